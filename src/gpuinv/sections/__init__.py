"""What happens to sections: layers are merged, the result is put into canonical form, sealed, verified."""
