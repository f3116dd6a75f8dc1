package docker

import "testing"

func TestRoutesThatCount(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT": "",
		"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0":                          "",
		"tun0\t00000080\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0":                          "",
		"tun0\t0000E70A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0":                          "10.231.0.0/16",
		"wg0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0":                           "10.0.0.0/8",
		"br-1f\t0000E70A\t00000000\t0001\t0\t0\t0\t80FFFFFF\t0\t0\t0":                         "",
		"docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0":                       "",
		"eth0\tzz\t0\t0\t0\t0\t0\tzz\t0\t0\t0":                                                "",
	} {
		got := ""
		if p, ok := parseRoute(line); ok {
			got = p.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
