package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/master/config"
)

// agentPool is the pool that the cluster's agents join.
const agentPool = "default"

// overlaid puts the user's own settings over m, written as data, and reads the result
// back as the master will.
func overlaid(m config.Master, data []byte, over string) ([]byte, error) {
	data, err := document.Overlay(data, []byte(over))
	if err != nil {
		return nil, fmt.Errorf("put --master-config-file over master.yaml: %w", err)
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		return nil, fmt.Errorf("read master.yaml with --master-config-file over it: %w", err)
	}
	if err := untouched(m, read.Master); err != nil {
		return nil, err
	}
	if _, err := document.Marshal(read.Master); err != nil {
		return nil, fmt.Errorf("keep what --master-config-file says: give secrets as file:/path or env:NAME: %w", err)
	}
	return data, nil
}

// says reports whether settings have a key. What cannot be read says nothing yet.
func says(over, key string) bool {
	d, err := document.Parse([]byte(over), "--"+ConfigSetting)
	if over == "" || err != nil {
		return false
	}
	_, found := d.Root().Get(key)
	return found
}

// untouched refuses to put anything over what the cluster's own processes go by.
func untouched(m, over config.Master) error {
	var wrong document.Errors
	own := func(same bool, key string) {
		if !same {
			wrong = append(wrong, document.Problem{
				File: "--" + ConfigSetting, Path: key, Text: "is the cluster's own: its processes go by it; leave it out, or give its flag",
			})
		}
	}
	own(over.ClusterName == m.ClusterName, "cluster_name")
	own(over.Port == m.Port, "port")
	own(over.DataDir == m.DataDir, "data_dir")
	own(over.Security.TLS.Cert == m.Security.TLS.Cert && over.Security.TLS.Key == m.Security.TLS.Key, "security.tls")
	own(over.Security.TrustUsers == m.Security.TrustUsers, "security.trust_users")
	own(sameSecret(over.Security.InitialUserPassword, m.Security.InitialUserPassword), "security.initial_user_password")
	own(over.DB.Kind() == m.DB.Kind() && over.DB.Host == "" && sameSecret(over.DB.URL, m.DB.URL), "db")
	own(over.ResourceManager.Agent != nil, "resource_manager")
	own(hasPool(over, agentPool), "resource_pools")
	own(hasPool(over, ElasticPool) == hasPool(m, ElasticPool), "resource_pools")
	return wrong.Err()
}

func sameSecret(a, b secret.Value) bool {
	x, _ := a.Ref()
	y, _ := b.Ref()
	return x == y && a.IsZero() == b.IsZero()
}

func hasPool(m config.Master, name string) bool {
	return len(m.ResourcePools) == 0 && name == agentPool ||
		slices.ContainsFunc(m.ResourcePools, func(p config.Pool) bool { return p.Name == name })
}

// checkConfiguration reads what the master will run with as it will.
func (t *Target) checkConfiguration(context.Context) doctor.Result {
	r := doctor.Result{Answer: doctor.Pass, Found: "master.yaml can be read", Needed: "settings with which the master starts", Fix: "correct the file of --" + ConfigSetting}
	data, err := masterYAML(t.Spec, t.Place, t.TasksAt)
	if err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
		return r
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		r.Answer, r.Found = doctor.Fail, err.Error()
		return r
	}
	if unbuilt := config.Unbuilt(read.Master); len(unbuilt) > 0 {
		r.Answer, r.Found = doctor.Fail, lines(unbuilt)
		return r
	}
	if given := config.GuardedMounts(read.Master); len(given) > 0 {
		r.Answer, r.Found = doctor.Unknown, lines(given)
	}
	return r
}

func lines(problems []document.Problem) string {
	out := make([]string, len(problems))
	for i, p := range problems {
		out[i] = p.String()
	}
	return strings.Join(out, "; ")
}
