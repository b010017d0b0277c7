package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/master/config"
)

// Recover reads the settings of a cluster whose record was lost back from the
// files it runs with. There are none when it has no master.yaml, and what cannot
// be read is left out.
func (p Place) Recover() (map[string]string, error) {
	if !exists(p.masterYAML()) {
		return nil, nil
	}
	m, _, err := config.Load([]string{p.masterYAML()}, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]string{
		ElasticSetting: "0",
		PortSetting:    strconv.Itoa(m.ListenPort()),
		TLSSetting:     strconv.FormatBool(m.Security.TLS.Enabled()),
	}
	if given, err := os.ReadFile(p.masterConfig()); err == nil {
		out[ConfigSetting] = string(given)
	}
	if ref, ok := m.DB.URL.Ref(); ok {
		out[DBSetting] = ref.Name
	}
	for _, pool := range m.ResourcePools {
		if pool.Name == ElasticPool && pool.Provider != nil && pool.Provider.Local != nil {
			out[ElasticSetting] = strconv.Itoa(pool.Provider.Local.MaxInstances)
			out[SlotSetting] = strconv.Itoa(pool.Provider.Local.ArtificialSlots)
		}
	}
	agents, err := os.ReadDir(p.path("agents"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("list", "agents", err)
	}
	out[AgentSetting], out[TrustSetting] = strconv.Itoa(len(agents)), "false"
	for _, a := range agents {
		read, _, err := agentconfig.Load([]string{filepath.Join(p.agent(a.Name()), "agent.yaml")}, nil)
		if err == nil {
			out[SlotSetting] = strconv.Itoa(read.ArtificialSlots)
			// The agent is told where tasks are not isolated, the master whose it takes.
			out[TrustSetting] = strconv.FormatBool(read.TrustUsers && m.Security.TrustUsers)
		}
	}
	return out, nil
}
