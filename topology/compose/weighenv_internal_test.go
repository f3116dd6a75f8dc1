package compose

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWeighEnv(t *testing.T) {
	t.Parallel()
	doubling := func(line string) string {
		text := "V0=0123456789\n"
		for i := range 40 {
			text += fmt.Sprintf(line+"\n", i+1, i, i)
		}
		return text
	}
	many := "HOST=db\nUSER=app\n"
	for i := range 500 {
		many += fmt.Sprintf("URL_%d=\"postgres://${USER}:${PASSWORD}@${HOST}/db%d\"\n", i, i)
	}
	tests := map[string]struct {
		text string
		want error
	}{
		"nothing":                {"", nil},
		"many, side by side":     {many, nil},
		"a cost in words":        {"PRICE='$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$'\n", nil},
		"each twice the last":    {doubling("V%d=$V%d$V%d"), errEnvText},
		"in braces":              {doubling("V%d=${V%d:-x}${V%d}"), errEnvText},
		"as YAML has it":         {doubling("V%d: $V%d$V%d"), errEnvText},
		"exported":               {doubling("export V%d=$V%d$V%d"), errEnvText},
		"in quotes":              {doubling("V%d=\"$V%d$V%d\""), errEnvText},
		"in octal":               {doubling(`V%d="\044V%d\044V%d"`), errEnvOdd},
		"over lines":             {doubling("V%d=\"\n$V%d$V%d\""), errEnvOdd},
		"one variable, often":    {"A=" + strings.Repeat("x", 100_000) + "\nB=" + strings.Repeat("$A", 100) + "\n", errEnvText},
		"one of the job's often": {"B=" + strings.Repeat("$JOB", 100) + "\n", errEnvText},
	}
	sizeOf := func(name string) int64 {
		return map[string]int64{"": 100_000, "JOB": 100_000, "PASSWORD": 10}[name]
	}
	for name, tt := range tests {
		if err := weighEnv([]byte(tt.text), sizeOf); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}
