package keyring

const systemName = "the Secret Service"
