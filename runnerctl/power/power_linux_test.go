package power

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnBattery(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"a desktop":            {nil, false},
		"a laptop, plugged":    {map[string]string{"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Charging"}, false},
		"plugged, emptying":    {map[string]string{"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, false},
		"a laptop, on its own": {map[string]string{"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, true},
		"charged over USB":     {map[string]string{"usb/type": "USB", "usb/online": "1", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, false},
		"a mouse's battery":    {map[string]string{"hid/type": "Battery", "hid/scope": "Device", "hid/status": "Discharging"}, false},
		"a UPS in a blackout":  {map[string]string{"ups/type": "UPS", "ups/status": "Discharging"}, true},
	} {
		dir := t.TempDir()
		for file, text := range tt.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := onBattery(dir); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := OnBattery(); err != nil {
		t.Errorf("this machine: %v", err)
	}
}
