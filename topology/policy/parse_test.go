package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology/policy"
)

func TestParseTellsEveryMistakeWithItsLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"misspelt", "image: [a]", `line 1, column 1: image: no such rule; did you mean images?`},
		{"elsewhere", "firewall: true", "line 1, column 1: firewall: no such rule; `runnerctl policy show` lists the rules"},
		{"twice", "gpus: true\nprivileged: true\ngpus: false", "line 3, column 1: gpus: set twice, first on line 1; keep one of them"},
		{"not a list", "images: postgres", "line 1, column 9: images: must be a list; for example [ghcr.io/acme/**, postgres]"},
		{"an empty list", "images: []", "line 1, column 9: images: the list is empty; remove it for the default, which is any"},
		{"no value", "privileged:", "line 1, column 12: privileged: has no value; give it a value or remove it"},
		{"no boolean", "privileged: yes please", "line 1, column 13: privileged: must be true or false"},
		{"an item", "networks:\n  - open\n  - host", `line 3, column 5: networks[1]: "host" is not one of none, restricted, open`},
		{"a day", "hours: [weekend]", `line 1, column 9: hours[0]: "weekend" is no day and no range of days: mon, mon-fri or daily`},
		{"a time", "hours: [mon 25:00-26:00]", `line 1, column 9: hours[0]: "25:00" is no time of day: 08:00`},
		{"a size", "ceiling:\n  memory: lots", `line 2, column 11: ceiling.memory: "lots" is no size from 6MiB to 1PiB; for example 8GiB`},
		{"cores", "ceiling: {cpus: nan}", `line 1, column 17: ceiling.cpus: "nan" is no number of cores from 0.01 to 1024; for example 4`},
		{"in a group", "ceiling: {cpu: 1}", "line 1, column 11: ceiling.cpu: no such rule; did you mean ceiling.cpus?"},
		{"a relative mount", "mounts: [cache]", `line 1, column 10: mounts[0]: "cache" is no absolute path`},
		{"a device", "devices: [/etc/passwd]", `line 1, column 11: devices[0]: "/etc/passwd" is not below /dev/`},
		{"a capability", "cap_add: [net admin]", `line 1, column 11: cap_add[0]: "net admin" is no capability of Linux; did you mean "NET_ADMIN"?`},
		{"a port", "ports: [70000]", `line 1, column 9: ports[0]: "70000" is no port: 8080, 8000-8999 or auto`},
		{"a pattern", "images: ['a[']", `line 1, column 10: images[0]: "a[" is no pattern; * stands for a part of one element, ** for any number of them`},
		{"no mapping", "- images", "line 1, column 1: must be a mapping (name: value)"},
		{"an alias", "images: &a [x]\nrepositories: *a", "line 2, column 15: repositories: aliases are not accepted; write the value out"},
		{"two documents", "gpus: true\n---\ngpus: true", "line 2, column 1: a second document starts here"},
		{"several", "gpu: true\nports: [x]", "line 1, column 1: gpu: no such rule; did you mean gpus?\n" +
			`line 2, column 9: ports[0]: "x" is no port: 8080, 8000-8999 or auto`},
	} {
		_, err := policy.Parse([]byte(tt.text))
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	for _, text := range []string{"images: [a", "\tx", strings.Repeat("#", 70<<10)} {
		if _, err := policy.Parse([]byte(text)); err == nil {
			t.Errorf("%.20q was accepted", text)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		p, err := policy.Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(&policy.Policy{}, p); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// everything sets every rule.
const everything = `
images: [postgres, "!*:latest"]
repositories: [github.com/acme/**]
networks: [none, restricted]
metadata_addresses: true
mounts: [/srv/cache, "/srv/data:ro"]
devices: [/dev/kvm]
gpus: true
privileged: true
cap_add: [NET_ADMIN]
host_modes: [network]
docker_socket: true
ports: [8000-8999, auto]
host_executor: true
host_user: builder
hours: ["mon-fri 18:00-08:00"]
not_on_battery: true
ceiling: {cpus: 2.5, memory: 4GiB, disk: 10GiB}
`

func TestTextIsReadBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", everything, "ceiling: {disk: 10GiB}"} {
		p := parse(t, text)
		back, err := policy.Parse([]byte(p.Text()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, p.Text())
		}
		if diff := cmp.Diff(p, back); diff != "" {
			t.Error(diff)
		}
	}
	// The example of every rule is a right one.
	for _, f := range policy.Fields {
		if _, err := policy.Set(nil, f.Name+"="+f.Example); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestOutlineOfAnotherRelease(t *testing.T) {
	t.Parallel()
	p, err := policy.ReadOutline([]byte(`{"gpus":true,"of_a_later_release":[1]}`))
	if err != nil || !p.GPUs {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := policy.ReadOutline([]byte(`{"gpus":"maybe"}`)); err == nil {
		t.Error("nonsense was accepted")
	}
	if got := string((&policy.Policy{}).Outline()); got != "{}" {
		t.Errorf("the default policy is %s", got)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		changes    []string
		want       string
	}{
		{"into nothing", "", []string{"gpus=true", "images=postgres,acme/*"}, "gpus: true\nimages:\n  - postgres\n  - acme/*\n"},
		{"comments stay", "# ours\nimages: [a] # for now\n# at night\nhours: ['daily 22:00-06:00']\n", []string{"images+=b"},
			"# ours\nimages: [a, b] # for now\n# at night\nhours: ['daily 22:00-06:00']\n"},
		{"a file of comments", "# ours\n", []string{"privileged=true"}, "# ours\n\nprivileged: true\n"},
		{"adds once", "images: [a]\n", []string{"images+=a,b"}, "images: [a, b]\n"},
		{"removes", "images: [a, b]\ngpus: true\n", []string{"images-=a", "gpus="}, "images: [b]\n"},
		{"removes the last", "mounts: [/a]\ngpus: true\n", []string{"mounts-=/a"}, "gpus: true\n"},
		{"empties a list", "mounts: [/a]\ngpus: true\n", []string{"mounts="}, "gpus: true\n"},
		{"allows everything", "images: [a]\nhours: [sat]\n", []string{"images=**", "hours=daily"}, "images:\n  - '**'\nhours:\n  - daily\n"},
		{"what is not there", "gpus: true\n", []string{"images="}, "gpus: true\n"},
		{"an exclusion goes", "images: ['!a']\ngpus: true\n", []string{"images-=!a"}, "gpus: true\n"},
		{"a group", "gpus: true\n", []string{"ceiling.cpus=2", "ceiling.memory=4GiB", "ceiling.memory=1GiB"},
			"gpus: true\nceiling:\n  cpus: 2\n  memory: 1GiB\n"},
		{"a group's end", "gpus: true\nceiling:\n  cpus: 2\n", []string{"ceiling.cpus="}, "gpus: true\n"},
		{"what looks like something else", "", []string{"ports=8080", "images=!a:latest"}, "ports:\n  - 8080\nimages:\n  - '!a:latest'\n"},
		{"everything goes", "gpus: true\n", []string{"gpus="}, ""},
	} {
		got, err := policy.Set([]byte(tt.text), tt.changes...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for change, want := range map[string]string{
		"gpus":           "gpus: not NAME=VALUE; for example images+=postgres",
		"gpu=true":       "gpu: no such rule; did you mean gpus?",
		"gpus+=true":     "gpus: is no list; write gpus=VALUE",
		"gpus=perhaps":   "gpus: must be true or false",
		"images-=a":      "images: has no entry \"a\"; see `runnerctl policy show`",
		"hours=sometime": `hours[0]: "sometime" is no day and no range of days: mon, mon-fri or daily`,
	} {
		if _, err := policy.Set(nil, change); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	for change, text := range map[string]string{
		"images=": "images: [a]", "images-=a": "images: [a]", "repositories=": "repositories: [a/b]", "networks=": "networks: [none]",
		"hours=": "hours: [sat]", "images-=a,b": "images: [a, b, '!a:1']",
	} {
		if _, err := policy.Set([]byte(text), change); err == nil || !strings.Contains(err.Error(), "would allow everything without an entry; write ") {
			t.Errorf("%s of %s: %v", change, text, err)
		}
	}
	// What is offered is taken, and then every image, repository, network and hour is.
	p, err := policy.Set([]byte("images: [a]"), "images=**", "repositories=**", "networks=none,restricted,open", "hours=daily")
	if err != nil {
		t.Fatal(err)
	}
	open, err := policy.Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	work := spec(t, "image: x.example/a/b:1\ncommand: [\"true\"]\nsource: {repository: \"https://x.example/a/b.git\", commit: 0123456789abcdef0123456789abcdef01234567}\n")
	if v := policy.Check(open, work, time.Unix(0, 0)); len(v) > 0 {
		t.Errorf("refused: %v", v)
	}
	for change, want := range map[string]string{
		"cap_add=NOPE":          `cap_add[0]: "NOPE" is no capability of Linux; for example "NET_ADMIN"`,
		"cap_add=cap_net_admim": `cap_add[0]: "cap_net_admim" is no capability of Linux; did you mean "NET_ADMIN"?`,
	} {
		if _, err := policy.Set(nil, change); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	if _, err := policy.Set([]byte("gpu: true"), "gpus=true"); err == nil {
		t.Error("a file with a mistake was changed")
	}
}
