package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/joho/godotenv"
	"github.com/spf13/pflag"

	"github.com/runnerhub/runnerhub/hub"
)

// Settings is the hub's configuration. Each setting is a flag; where the flag is
// not given, the environment variable RUNNERHUB_<NAME> counts, then a line of the file, then the default.
type Settings struct {
	Addr         string // host:port, port 0 picks one
	PublicURL    string // what runners and people reach the hub by; "" derives it from each request
	Data         string // folder of the embedded store, the blobs and admin.key
	Database     string // sqlite://PATH or postgres://…; "" is DATA/runnerhub.db
	Blobs        string // folder; "" is DATA/blobs
	TLSCert      string
	TLSKey       string
	InsecureHTTP bool
	AllowHosts   []string // further Host headers that are answered
	AllowOrigins []string // browser origins that may call, besides the hub's own
	TrustProxies []string // CIDR prefixes of proxies whose X-Forwarded-For and -Proto are believed
	LogFormat    string
	LogLevel     string
	Policy       hub.Policy
}

const envPrefix = "RUNNERHUB_"

// maxPriorityAge keeps ranks within 32 bits for decades.
const maxPriorityAge = 24 * time.Hour

// Defaults returns the settings of a hub that nobody configured.
func Defaults() Settings {
	return Settings{
		Addr:      "127.0.0.1:7117",
		Data:      filepath.Join(xdg.DataHome, "runnerhub"),
		LogFormat: "text",
		LogLevel:  "info",
		Policy:    hub.DefaultPolicy(),
	}
}

// storeFlags are the settings that every command needs.
func (s *Settings) storeFlags(f *pflag.FlagSet) {
	f.String("config", "", "file of RUNNERHUB_NAME=value lines (default "+defaultConfigFile()+", where it exists)")
	f.StringVar(&s.Data, "data", s.Data, "folder of the embedded store, the bytes of logs and artifacts, and admin.key")
	f.StringVar(&s.Database, "database", s.Database, "sqlite://PATH or postgres://… (default DATA/runnerhub.db)")
	f.StringVar(&s.LogFormat, "log-format", s.LogFormat, "text or json")
	f.StringVar(&s.LogLevel, "log-level", s.LogLevel, "debug, info, warn or error")
}

// serveFlags are the settings of a serving hub.
func (s *Settings) serveFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Addr, "addr", s.Addr, "host:port to listen on; port 0 picks one")
	f.StringVar(&s.PublicURL, "public-url", s.PublicURL, "URL that runners and people reach the hub by (default: as each request says)")
	f.StringVar(&s.Blobs, "blobs", s.Blobs, "folder of the bytes of logs, artifacts and archives; several hubs share one (default DATA/blobs)")
	f.StringVar(&s.TLSCert, "tls-cert", s.TLSCert, "certificate chain in PEM")
	f.StringVar(&s.TLSKey, "tls-key", s.TLSKey, "private key in PEM")
	f.BoolVar(&s.InsecureHTTP, "insecure-http", s.InsecureHTTP, "serve plain HTTP on an address that others can reach")
	f.StringSliceVar(&s.AllowHosts, "allow-host", s.AllowHosts, "further host name that requests may ask for; repeatable")
	f.StringSliceVar(&s.AllowOrigins, "allow-origin", s.AllowOrigins, "further browser origin that may call; repeatable")

	f.StringSliceVar(&s.TrustProxies, "trust-proxy", s.TrustProxies, "address or CIDR of a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; repeatable")

	p := &s.Policy
	f.DurationVar(&p.LeaseTTL, "lease-ttl", p.LeaseTTL, "a lease ends this long after its last heartbeat")
	f.DurationVar(&p.Heartbeat, "heartbeat", p.Heartbeat, "how often runners send one")
	f.DurationVar(&p.FirstHeartbeat, "first-heartbeat", p.FirstHeartbeat, "a fresh lease not acknowledged within this is queued again")
	f.DurationVar(&p.NoRunnerTimeout, "no-runner-timeout", p.NoRunnerTimeout, "a job is rejected after this long without an eligible runner online")
	f.DurationVar(&p.Timeout, "timeout", p.Timeout, "of an attempt whose spec names none")
	f.DurationVar(&p.MaxTimeout, "max-timeout", p.MaxTimeout, "the most that a spec may ask for")
	f.DurationVar(&p.MaxHold, "max-hold", p.MaxHold, "the most that a spec may ask to be held after a failure; 0 is no hold")
	f.DurationVar(&p.DeadlineMargin, "deadline-margin", p.DeadlineMargin, "from an attempt's timeout to the hub's deadline, for stopping and reporting")
	f.DurationVar(&p.CancelGrace, "cancel-grace", p.CancelGrace, "SIGTERM to SIGKILL where the spec names none")
	f.DurationVar(&p.CancelMargin, "cancel-margin", p.CancelMargin, "a canceled attempt not reported by its grace plus this is settled by the hub")
	f.IntVar(&p.MaxAttempts, "max-attempts", p.MaxAttempts, "attempts of a job whose spec says nothing")
	f.DurationVar(&p.PriorityAge, "priority-age", p.PriorityAge, "a point of priority is worth having been submitted this much earlier")
	f.DurationVar(&p.Sweep, "sweep", p.Sweep, "how often lost leases and parked jobs are looked for")
	f.DurationVar(&p.BackupPoll, "backup-poll", p.BackupPoll, "how long a lost wake-up can cost a held call, at most 5s")
	f.DurationVar(&p.StaleAfter, "stale-after", p.StaleAfter, "a runner silent for this long is stale")
	f.DurationVar(&p.OfflineAfter, "offline-after", p.OfflineAfter, "and after this long offline")
	f.IntVar(&p.MaxQueued, "max-queued", p.MaxQueued, "jobs that may wait in one queue")
	f.IntVar(&p.MaxRunning, "max-running", p.MaxRunning, "live attempts of one workspace, or of one person's own runners")
	f.IntVar(&p.MaxRunningPerWorkspace, "max-running-per-workspace", p.MaxRunningPerWorkspace, "live attempts of one workspace's jobs on one owner's runners; 0 is no cap")
	f.Int64Var(&p.MaxLogBytes, "max-log-bytes", p.MaxLogBytes, "of one attempt's log; beyond it the middle is dropped")
	f.Int64Var(&p.MaxExecBytes, "max-exec-bytes", p.MaxExecBytes, "of the output of a command in a job; the rest is dropped")
	f.Int64Var(&p.MaxCopyBytes, "max-copy-bytes", p.MaxCopyBytes, "of an archive that is copied into or out of a job")
	f.DurationVar(&p.LogGrace, "log-grace", p.LogGrace, "how long after an attempt's end its log may still arrive")
	f.DurationVar(&p.Retention, "retention", p.Retention, "how long after its end a job is kept, with its events and log; 0 keeps all")
	f.IntVar(&p.MaxArtifacts, "max-artifacts", p.MaxArtifacts, "files that one attempt may leave")
	f.Int64Var(&p.MaxArtifactBytes, "max-artifact-bytes", p.MaxArtifactBytes, "of one attempt's artifacts together")
	f.DurationVar(&p.ArtifactRetention, "artifact-retention", p.ArtifactRetention, "how long artifacts are kept, and source archives after their last use")
	f.Int64Var(&p.MaxSourceBytes, "max-source-bytes", p.MaxSourceBytes, "of one source archive")
}

func defaultConfigFile() string { return filepath.Join(xdg.ConfigHome, "runnerhub", "runnerhub.env") }

// fill sets every flag that was not given from the environment or the file.
func fill(flags *pflag.FlagSet, environ func(string) (string, bool)) error {
	file, err := readFile(flags, environ)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		known[name] = true
		if f.Changed || f.Name == "help" || f.Name == "config" {
			return
		}
		var value, from string
		if v, ok := environ(name); ok {
			value, from = v, "environment variable "+name
		} else if v, ok := file.values[name]; ok {
			value, from = v, name+" in "+file.path
		} else {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", from, err))
		}
	})
	for name := range file.values {
		if !known[name] && !isSetting(name) {
			problems = append(problems, fmt.Errorf("%s: there is no setting %s", file.path, name))
		}
	}
	return errors.Join(problems...)
}

// isSetting tells whether some command has a setting of that variable, so that one file can serve all commands.
func isSetting(env string) bool {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	s := Defaults()
	s.storeFlags(all)
	s.serveFlags(all)
	found := false
	all.VisitAll(func(f *pflag.Flag) { found = found || envName(f.Name) == env })
	return found
}

type configFile struct {
	path   string
	values map[string]string
}

func readFile(flags *pflag.FlagSet, environ func(string) (string, bool)) (configFile, error) {
	path, err := flags.GetString("config")
	if err != nil {
		return configFile{}, err
	}
	if path == "" {
		path, _ = environ(envName("config"))
	}
	named := path != ""
	if !named {
		path = defaultConfigFile()
	}
	values, err := godotenv.Read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return configFile{}, nil
	}
	if err != nil {
		return configFile{}, fmt.Errorf("read the configuration file: %w", err)
	}
	return configFile{path: path, values: values}, nil
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// check refuses settings that contradict each other, and completes those that follow from others.
func (s *Settings) check() error {
	if s.Database == "" {
		s.Database = "sqlite://" + filepath.Join(s.Data, "runnerhub.db")
	}
	if s.Blobs == "" {
		s.Blobs = filepath.Join(s.Data, "blobs")
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	if _, err := s.proxies(); err != nil {
		return err
	}
	p := s.Policy
	switch {
	case p.Heartbeat <= 0 || p.LeaseTTL < 2*p.Heartbeat:
		return fmt.Errorf("--lease-ttl (%s) must be at least twice --heartbeat (%s), or one late heartbeat loses a job", p.LeaseTTL, p.Heartbeat)
	case p.FirstHeartbeat <= 0 || p.NoRunnerTimeout <= 0 || p.Sweep <= 0 || p.DeadlineMargin <= 0 || p.StaleAfter <= 0:
		return errors.New("--first-heartbeat, --no-runner-timeout, --sweep, --deadline-margin and --stale-after must be above zero")
	case p.BackupPoll <= 0 || p.BackupPoll > hub.DefaultPolicy().BackupPoll:
		return fmt.Errorf("--backup-poll must be above zero and at most %s", hub.DefaultPolicy().BackupPoll)
	case p.MaxHold < 0 || p.MaxHold > hub.DefaultPolicy().MaxTimeout:
		return fmt.Errorf("--max-hold must be 0 to %s", hub.DefaultPolicy().MaxTimeout)
	case p.MaxExecBytes < 64<<10 || p.MaxCopyBytes < 64<<10:
		return errors.New("--max-exec-bytes and --max-copy-bytes must be at least 64 KiB")
	case p.Timeout <= 0 || p.Timeout > p.MaxTimeout:
		return fmt.Errorf("--timeout (%s) must be above zero and at most --max-timeout (%s)", p.Timeout, p.MaxTimeout)
	case p.OfflineAfter < p.StaleAfter:
		return fmt.Errorf("--offline-after (%s) must not be below --stale-after (%s)", p.OfflineAfter, p.StaleAfter)
	case p.PriorityAge < 0 || p.PriorityAge > maxPriorityAge || p.PriorityAge%time.Second != 0:
		return fmt.Errorf("--priority-age must be whole seconds, at most %s", maxPriorityAge)
	case p.MaxRunningPerWorkspace < 0:
		return errors.New("--max-running-per-workspace must not be below 0")
	case p.MaxAttempts < 1 || p.MaxQueued < 1 || p.MaxRunning < 1 || p.MaxLogBytes < 1<<20:
		return errors.New("--max-attempts, --max-queued and --max-running must be at least 1, and --max-log-bytes at least 1 MiB")
	case p.MaxArtifacts < 1 || p.MaxArtifactBytes < 1 || p.MaxSourceBytes < 1:
		return errors.New("--max-artifacts, --max-artifact-bytes and --max-source-bytes must be at least 1")
	case p.ArtifactRetention < time.Hour || (p.Retention > 0 && p.ArtifactRetention > p.Retention):
		return fmt.Errorf("--artifact-retention (%s) must be at least an hour, and at most --retention (%s) where that is set", p.ArtifactRetention, p.Retention)
	case p.Retention < 0 || (p.Retention > 0 && p.Retention < p.LogGrace+time.Minute):
		return fmt.Errorf("--retention (%s) must be 0, or a minute longer than --log-grace (%s), until when a log may grow", p.Retention, p.LogGrace)
	}
	return nil
}

// proxies reads TrustProxies; a plain address is a prefix of its whole length.
func (s *Settings) proxies() ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(s.TrustProxies))
	for _, text := range s.TrustProxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, fmt.Errorf("--trust-proxy %q is neither an address nor a prefix such as 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		out = append(out, p)
	}
	return out, nil
}

func osEnviron(name string) (string, bool) { return os.LookupEnv(name) }
