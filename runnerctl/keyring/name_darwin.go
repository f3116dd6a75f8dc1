package keyring

const systemName = "the Keychain"
