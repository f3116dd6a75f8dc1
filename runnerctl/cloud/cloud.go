// Package cloud says what has to be known of the cloud that this machine is of.
package cloud

import (
	"os"
	"path/filepath"
	"strings"
)

// firmware is where Linux tells what the machine's firmware says of it.
const firmware = "/sys/class/dmi/id"

// OpenMetadata says whether containers in an open network reach this machine's
// metadata service, and so its credentials, whatever is done about link-local
// addresses: Alibaba Cloud has it at 100.100.100.200, an ordinary address.
func OpenMetadata() bool { return openMetadata(firmware) }

func openMetadata(dir string) bool {
	for _, name := range []string{"sys_vendor", "product_name"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && strings.HasPrefix(strings.TrimSpace(string(text)), "Alibaba Cloud") {
			return true
		}
	}
	return false
}
