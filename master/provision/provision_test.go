package provision

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/master/config"
)

// awsPool returns a configuration of one pool with these provider settings in addition to the
// required ones.
func awsPool(t *testing.T, settings string) config.Master {
	t.Helper()
	text := "resource_pools: [{pool_name: default, provider: {type: aws, image_id: ami-1, iam_instance_profile_arn: 'arn:aws:iam::1:instance-profile/p', " + settings + "}}]"
	m, _, err := config.Parse([]byte(text), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A machine whose driver is broken must not join with its CPU in place of its GPUs.
func TestGCPSlotType(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"zone: us-west1-b": "cuda",
		"instance_type: {machine_type: g2-standard-8}":                                                                             "cuda",
		"instance_type: {machine_type: e2-standard-4}":                                                                             "none",
		"instance_type: {machine_type: e2-standard-4}, cpu_slots_allowed: true":                                                    "cpu",
		"instance_type: {gpu_num: 0}, base_config: {guestAccelerators: [{acceleratorType: nvidia-tesla-t4, acceleratorCount: 1}]}": "cuda",
	} {
		m, _, err := config.Parse([]byte("resource_pools: [{pool_name: default, provider: {type: gcp, "+settings+"}}]"), "master.yaml")
		if err != nil {
			t.Fatal(err)
		}
		all, err := Configs(m, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := agentconfig.ParseSent(all["default"].AgentYAML, "agent.yaml")
		if err != nil || a.SlotType != want {
			t.Errorf("%s: got %s, %v; want %s", settings, a.SlotType, err, want)
		}
	}
}

func TestAgentDefaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, settings string
		want           map[string]any
	}{
		{"nothing is said", "region: r", map[string]any{
			"docker_network": "default", "docker_runtime": "runc", "slot_type": "cuda",
			"agent_reconnect_attempts": 0, "agent_reconnect_backoff": "5s",
		}},
		{"nothing, by name", "agent_config_file_contents: null", map[string]any{"docker_network": "default", "slot_type": "cuda"}},
		{"the provider's settings", "agent_docker_network: pedl, agent_docker_runtime: nvidia, agent_reconnect_backoff: 7s", map[string]any{
			"docker_network": "pedl", "docker_runtime": "nvidia", "agent_reconnect_backoff": "7s",
		}},
		{"attempts of agents that keep trying", "agent_reconnect_attempts: 9", map[string]any{"agent_reconnect_attempts": 0}},
		{
			"attempts before a hook", "agent_reconnect_attempts: 9, agent_config_file_contents: {hooks: {on_connection_lost: [poweroff]}}",
			map[string]any{"agent_reconnect_attempts": 9, "hooks": map[string]any{"on_connection_lost": []any{"poweroff"}}},
		},
		{
			"the agent.yaml goes first", "agent_docker_network: a, agent_config_file_contents: {docker_network: b, slot_type: none, http_proxy: 'http://p'}",
			map[string]any{"docker_network": "b", "slot_type": "none", "http_proxy": "http://p"},
		},
		{
			"who it is is not for it to say", "agent_config_file_contents: {agent_id: x, master_host: y, http_proxy: z}",
			map[string]any{"agent_id": nil, "master_host": nil, "http_proxy": "z"},
		},
		{"without GPUs", "instance_type: m5.large", map[string]any{"slot_type": "none"}},
		{"processors as slots", "instance_type: m5.large, cpu_slots_allowed: true", map[string]any{"slot_type": "cpu"}},
		{"a type that is not known", "instance_type: x9.big, instance_slots: 4", map[string]any{"slot_type": "auto"}},
		{"a type that is not known, without slots", "instance_type: x9.big, instance_slots: 0", map[string]any{"slot_type": "none"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			all, err := Configs(awsPool(t, tc.settings), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(all["default"].AgentYAML, &got); err != nil {
				t.Fatal(err)
			}
			for key, want := range tc.want {
				if fmt.Sprint(got[key]) != fmt.Sprint(want) {
					t.Errorf("%s: got %v, want %v", key, got[key], want)
				}
			}
		})
	}
}

func TestConfigsRejectsInvalidAgentConfiguration(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"agent_config_file_contents: {slot_tpye: none}":                "slot_type",
		"agent_config_file_contents: {container_runtime: singularity}": "container_runtime",
	} {
		_, err := Configs(awsPool(t, settings), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "agent_config_file_contents") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it refused for %s", settings, err, want)
		}
	}
}
