package power

import (
	"os"
	"path/filepath"
	"strings"
)

// OnBattery says whether the machine draws on a battery now. A machine without one does not.
func OnBattery() (bool, error) { return onBattery("/sys/class/power_supply") }

// onBattery reads what the kernel tells of power supplies: one from outside that is
// on, or else a battery that is being emptied. Those of mice and telephones (scope Device) count for nothing.
func onBattery(dir string) (bool, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return false, err
	}
	emptied := false
	for _, supply := range found {
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(supply, name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(text))
		}
		if read("scope") == "Device" {
			continue
		}
		switch read("type") {
		case "Mains", "USB", "Wireless":
			if read("online") == "1" {
				return false, nil
			}
		case "Battery", "UPS":
			emptied = emptied || read("status") == "Discharging"
		}
	}
	return emptied, nil
}
