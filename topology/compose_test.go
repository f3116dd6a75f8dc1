package topology_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// The fields of a service in the Compose specification of June 2026.
const composeServiceFields = `annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command
configs container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus
cpuset credential_spec depends_on deploy develop device_cgroup_rules devices dns dns_opt dns_search domainname
entrypoint env_file environment expose extends external_links extra_hosts gpus group_add healthcheck hostname
image init ipc isolation label_file labels links logging mac_address mem_limit mem_reservation mem_swappiness
memswap_limit models network_mode networks oom_kill_disable oom_score_adj pid pids_limit platform ports post_start
pre_stop privileged profiles provider pull_policy pull_refresh_after read_only restart runtime scale secrets
security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket
user userns_mode uts volumes volumes_from working_dir`

// Each Compose field is either known or refused by its name, with a hint.
func TestComposeFieldsAreKnownOrRefused(t *testing.T) {
	t.Parallel()
	supported := strings.Fields(`image command entrypoint environment healthcheck depends_on working_dir user tmpfs
		cpus mem_limit pids_limit ulimits`)
	for _, field := range strings.Fields(composeServiceFields) {
		codes := codesAt(t, "image: a\nservices:\n  b:\n    "+field+": {}\n", "services.b."+field)
		refused := slices.Contains(codes, topology.ProblemUnsupported)
		if refused == slices.Contains(supported, field) || slices.Contains(codes, topology.ProblemUnknownField) {
			t.Errorf("%s: %v", field, codes)
		}
	}
}

// What the design has and this version has not is refused by name as well, and
// so is the top of a Compose file.
func TestTopLevelFieldsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, field := range strings.Fields(`source artifacts secrets hold_on_failure
		version include models networks volumes configs x-common
		build ports privileged deploy cap_add restart container_name`) {
		codes := codesAt(t, "image: a\n"+field+": {}\n", field)
		if !slices.Equal(codes, []string{topology.ProblemUnsupported}) {
			t.Errorf("%s: %v", field, codes)
		}
	}
}

// codesAt parses a text and returns the codes of the problems of one field. A
// refusal must say what to do instead.
func codesAt(t *testing.T, text, field string) (codes []string) {
	t.Helper()
	_, err := topology.Parse([]byte(text))
	var specErr *topology.SpecError
	if err != nil && !errors.As(err, &specErr) {
		t.Fatal(err)
	}
	if specErr == nil {
		return nil
	}
	for _, p := range specErr.Problems {
		if p.Field != field {
			continue
		}
		codes = append(codes, p.Code)
		if p.Code == topology.ProblemUnsupported && p.Hint == "" {
			t.Errorf("%s is refused without a hint", field)
		}
	}
	return codes
}
