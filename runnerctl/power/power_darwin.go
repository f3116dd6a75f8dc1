package power

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// OnBattery says whether the machine draws on a battery now. A machine without one does not.
func OnBattery() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/usr/bin/pmset", "-g", "ps").Output()
	if err != nil {
		return false, fmt.Errorf("ask pmset what the machine runs on: %w", err)
	}
	return bytes.Contains(out, []byte("'Battery Power'")), nil
}
