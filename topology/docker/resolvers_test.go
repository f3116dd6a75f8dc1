package docker

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

func TestResolversBesideTheBlock(t *testing.T) {
	t.Parallel()
	local := Endpoint{Host: "unix:///var/run/docker.sock"}
	tests := map[string]struct {
		endpoint Endpoint
		etc, run string
		want     []string
	}{
		"ordinary":               {local, "# comment\nsearch a.example\nnameserver 10.0.0.2\nnameserver fd00::1\n", "", nil},
		"the cloud's own":        {local, "nameserver 169.254.169.254\n", "", []string{"8.8.8.8", "8.8.4.4"}},
		"one of two":             {local, "nameserver 169.254.169.253\nnameserver 10.0.0.2\n", "", []string{"10.0.0.2"}},
		"behind systemd's":       {local, "nameserver 127.0.0.53\noptions edns0\n", "nameserver 169.254.169.254\n", []string{"8.8.8.8", "8.8.4.4"}},
		"ordinary, systemd's":    {local, "nameserver 127.0.0.53\n", "nameserver 192.168.1.1\n", nil},
		"none":                   {local, "", "", nil},
		"of another machine":     {Endpoint{Host: "ssh://user@host"}, "nameserver 169.254.169.254\n", "", nil},
		"mapped into IPv6, junk": {local, "nameserver ::ffff:169.254.169.254\nnameserver what\nnameserver\n", "", []string{"8.8.8.8", "8.8.4.4"}},
	}
	for name, tt := range tests {
		got := resolversBeside(tt.endpoint, func(file string) ([]byte, error) {
			switch text := map[string]string{resolvConf: tt.etc, resolvConfSystemd: tt.run}[file]; text {
			case "":
				return nil, fmt.Errorf("%s: %w", file, os.ErrNotExist)
			default:
				return []byte(text), nil
			}
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
