package power

import (
	"fmt"
	"syscall"
	"unsafe"
)

// OnBattery says whether the machine draws on a battery now. A machine without one does not.
func OnBattery() (bool, error) {
	// SYSTEM_POWER_STATUS of the Windows API.
	var status struct {
		ACLine, BatteryFlag, BatteryPercent, SystemFlag byte
		LifeTime, FullLifeTime                          uint32
	}
	get := syscall.NewLazyDLL("kernel32.dll").NewProc("GetSystemPowerStatus")
	if ok, _, err := get.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return false, fmt.Errorf("ask Windows what the machine runs on: %w", err)
	}
	return status.ACLine == 0, nil // 1 is on mains, 255 is unknown
}
