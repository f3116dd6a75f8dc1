package keyring

const systemName = "the Credential Manager"
