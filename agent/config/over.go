package config

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/config/document"
)

// Own lists the settings that are the agent's own to know: where its master is,
// and who it is itself. A master that sends a configuration does not change them.
func Own() []string {
	return []string{
		"config_file", "master_host", "master_port", "security", "agent_id", "resource_pool", "join_token_file",
		"machine_socket", "machine_secret_file", "cluster_id", "data_dir",
	}
}

// LoadUnder is LoadDocument with what a master sent over the file, setting by
// setting, and under what was given by flag and environment. Of what was sent, the
// agent's Own settings are passed over.
func LoadUnder(files []string, sent []byte, given []document.Given) (Loaded, error) {
	d, err := document.First("agent.yaml", files, Paths())
	if err != nil {
		return Loaded{}, err
	}
	over, err := document.Parse(sent, "agent.yaml from the master")
	if err != nil {
		return Loaded{}, err
	}
	own, from := d.Root(), over.Root()
	for _, key := range from.Keys() {
		if n, found := from.Get(key); found && !slices.Contains(Own(), key) {
			putOver(own, key, n)
		}
	}
	return read(d, given)
}

// putOver sets a key, or in a mapping the keys below it.
func putOver(into document.Map, key string, n document.Node) {
	old, found := into.Get(key)
	if found {
		have, isMap := old.Map()
		want, wantMap := n.Map()
		if isMap && wantMap {
			for _, k := range want.Keys() {
				if below, found := want.Get(k); found {
					putOver(have, k, below)
				}
			}
			return
		}
	}
	_, _ = into.Take(key)
	into.Put(key, n)
}
