//go:build !linux && !darwin && !windows

package keyring

const systemName = "the system's keyring"
