package logtext

import "testing"

func TestRepeats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"waiting", "waiting", true},
		{"waiting", "waiting.", false},
		{"Downloading 12% [==>       ] 1.2 MB", "Downloading 56% [=====>    ] 5.6 MB", true},
		{"⠋ 3/20 fetched", "⠙ 4/20 fetched", true}, // spinners are pictures too
		{"Receiving objects:  10% (1/10)", "Receiving objects:  20% (2/10)", true},
		{"######    60,0%", "########  80,1%", true},
		{"got 3, want 4", "got 5, want 4", false}, // no progress
		{"ok pkg/a coverage: 80% of statements", "ok pkg/b coverage: 75% of statements", false},
		{"100% done", "deploying", false},
	} {
		if got := Repeats([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext":                              "plain\ttext",
		"\x1b[31mred\x1b[0m and \x1b[1;4mbold":     "red and bold",
		"10%\r20%\r100% done\r":                    "100% done",
		"windows\r":                                "windows",
		"\x1b]0;a title\x07text":                   "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"ab\bc":         "ac",
		"\b\bx":         "x",
		"bell\a\x00nul": "bellnul",
		"\u202eexe.txt": "exe.txt",
		"é\xff":         "é\xff",
	} {
		if got := string(Clean([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
