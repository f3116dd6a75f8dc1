package pairing_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/pairing"
)

func TestTokenIsCheckedBeforeItIsLookedUp(t *testing.T) {
	t.Parallel()
	good := pairing.New(pairing.APIKey)
	flip := func(s string, i int) string {
		c := byte('0')
		if s[i] == c {
			c = '1'
		}
		return s[:i] + string(c) + s[i+1:]
	}
	for name, tc := range map[string]struct {
		token string
		want  error
	}{
		"good":            {good, nil},
		"body typo":       {flip(good, 5), pairing.ErrChecksum},
		"checksum typo":   {flip(good, len(good)-1), pairing.ErrChecksum},
		"too short":       {good[:len(good)-1], pairing.ErrFormat},
		"too long":        {good + "0", pairing.ErrFormat},
		"white space":     {good + " ", pairing.ErrFormat},
		"other purpose":   {pairing.New(pairing.RunnerToken), pairing.ErrPrefix},
		"foreign":         {"ghp_" + good[3:], pairing.ErrFormat},
		"empty":           {"", pairing.ErrFormat},
		"another's shape": {"sk-live-123", pairing.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := pairing.Check(tc.token, pairing.APIKey); !errors.Is(err, tc.want) {
				t.Fatalf("Check(%q) = %v, want %v", tc.token, err, tc.want)
			}
		})
	}
}

func TestEverySingleTypoIsFound(t *testing.T) {
	t.Parallel()
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	rapid.Check(t, func(t *rapid.T) {
		token := pairing.New(pairing.RunnerToken)
		i := rapid.IntRange(len("rnr_"), len(token)-1).Draw(t, "at")
		c := rapid.SampledFrom([]byte(alphabet)).Draw(t, "to")
		typo := token[:i] + string(c) + token[i+1:]
		_, err := pairing.Check(typo, pairing.RunnerToken)
		if (err == nil) != (typo == token) {
			t.Fatalf("Check(%q) = %v; the token was %q", typo, err, token)
		}
	})
}

func TestDerive(t *testing.T) {
	t.Parallel()
	a := pairing.Derive(pairing.LeaseToken, []byte("secret"), "a", "bc")
	if b := pairing.Derive(pairing.LeaseToken, []byte("secret"), "a", "bc"); a != b {
		t.Fatalf("derived %q and %q from the same parts", a, b)
	}
	for name, other := range map[string]string{
		"other split":  pairing.Derive(pairing.LeaseToken, []byte("secret"), "ab", "c"),
		"other secret": pairing.Derive(pairing.LeaseToken, []byte("secreT"), "a", "bc"),
		"other prefix": pairing.Derive(pairing.Capability, []byte("secret"), "a", "bc"),
	} {
		if _, body, _ := strings.Cut(other, "_"); strings.HasSuffix(a, body) {
			t.Errorf("%s gives the same body", name)
		}
	}
	if _, err := pairing.Check(a, pairing.LeaseToken); err != nil {
		t.Fatal(err)
	}
}

func TestUserCodesAreReadAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	code := pairing.NewUserCode()
	for _, typed := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", ""), " " + code + " "} {
		if got, ok := pairing.NormalizeUserCode(typed); !ok || got != code {
			t.Errorf("NormalizeUserCode(%q) = %q, %v; want %q", typed, got, ok, code)
		}
	}
	for _, typed := range []string{"", "BCDF", "BCDF-GHJA", code + "B", "BCDF_GHJK", strings.Repeat("B", 1<<16)} {
		if got, ok := pairing.NormalizeUserCode(typed); ok {
			t.Errorf("NormalizeUserCode(%.20q) = %q, want a refusal", typed, got)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	public, private := pairing.NewKey()
	key, err := pairing.ParseKey(public)
	if err != nil {
		t.Fatal(err)
	}
	sig := pairing.Sign(private, []byte("hello"))
	if !pairing.Verify(key, []byte("hello"), sig) {
		t.Error("a good signature was refused")
	}
	if pairing.Verify(key, []byte("hellO"), sig) || pairing.Verify(nil, []byte("hello"), sig) || pairing.Verify(key, []byte("hello"), "?") {
		t.Error("a bad signature was accepted")
	}
	for _, bad := range []string{"", "AAAA", "not base64!"} {
		if _, err := pairing.ParseKey(bad); !errors.Is(err, pairing.ErrKey) {
			t.Errorf("ParseKey(%q) = %v", bad, err)
		}
	}
	if fp := pairing.Fingerprint(key); !strings.HasPrefix(fp, "SHA256:") || len(fp) != len("SHA256:")+43 {
		t.Errorf("fingerprint %q", fp)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(pairing.New(pairing.APIKey))
	f.Add("rnr_")
	f.Add("pair_\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := pairing.Check(s, pairing.APIKey); err == nil && (p != pairing.APIKey || !strings.HasPrefix(s, "ak_")) {
			t.Fatalf("Check(%q) took it for %q", s, p)
		}
	})
}

// However a code is typed, it is read as one that people see, or as none.
func FuzzNormalizeUserCode(f *testing.F) {
	f.Add("BCDF-GHJK")
	f.Add("bcdf ghjk")
	f.Add("BCDF-GHJKL")
	f.Add("BCDF-GHJA")
	f.Add("\u017fcdf--ghjk") // the long s is upper-cased to S
	seen := regexp.MustCompile(`^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$`)
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := pairing.NormalizeUserCode(typed)
		if !ok {
			if code != "" {
				t.Fatalf("%q is no code, and is read as %q", typed, code)
			}
			return
		}
		if !seen.MatchString(code) {
			t.Fatalf("%q is read as %q", typed, code)
		}
		for _, same := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", ""), " " + typed + " "} {
			if again, ok := pairing.NormalizeUserCode(same); !ok || again != code {
				t.Fatalf("%q is read as %q, and %q as %q, %v", typed, code, same, again, ok)
			}
		}
	})
}
