package keyring

// private has nothing to look at: a user's own profile folder is closed to others by its access list.
func private(string) error { return nil }
