package awstest

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Live returns all existing objects in all regions that did not exist before the test, as sorted
// "kind identity", independent of API calls. Objects that are being deleted do not count, except
// secrets that can still be restored.
func (w *World) Live() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	add := func(kind string, ids []string) {
		for _, id := range ids {
			out = append(out, kind+" "+id)
		}
	}
	add("role", w.iam.roles.made())
	add("instance-profile", w.iam.profiles.made())
	add("bucket", w.s3.buckets.made())
	for _, name := range slices.Sorted(maps.Keys(w.sites)) {
		s := w.sites[name]
		s.settle()
		add("vpc", s.net.vpcs.made())
		add("subnet", s.net.subnets.made())
		add("internet-gateway", s.net.gateways.made())
		add("vpc-endpoint", s.net.endpoints.made())
		add("network-interface", s.net.nics.made())
		add("address", s.net.addresses.made())
		add("volume", s.ec2.volumes.made())
		add("snapshot", s.ec2.snapshots.made())
		add("log-group", s.logs.groups.made())
		add("secret", s.secretsAlive())
		add("security-group", s.ownGroups())
		add("route-table", s.ownTables())
		add("instance", s.alive())
		add("spot-request", s.openRequests())
	}
	slices.Sort(out)
	return out
}

func (s *site) secretsAlive() []string {
	var out []string
	for _, v := range s.vault.secrets.all() {
		if v.doomed == nil || s.now().Before(*v.doomed) {
			out = append(out, v.name)
		}
	}
	return out
}

// ownGroups returns the security groups without the VPCs' default groups.
func (s *site) ownGroups() []string {
	var out []string
	for _, g := range s.net.groups.all() {
		if *g.GroupName != "default" {
			out = append(out, *g.GroupId)
		}
	}
	return out
}

func (s *site) ownTables() []string {
	var out []string
	for _, rt := range s.net.routes.all() {
		if !isMain(*rt) {
			out = append(out, *rt.RouteTableId)
		}
	}
	return out
}

func (s *site) alive() []string {
	var out []string
	for _, v := range s.ec2.instances.all() {
		if n := v.State.Name; n != types.InstanceStateNameTerminated && n != types.InstanceStateNameShuttingDown {
			out = append(out, *v.InstanceId)
		}
	}
	return out
}

func (s *site) openRequests() []string {
	var out []string
	for _, r := range s.ec2.requests.all() {
		if r.State == types.SpotInstanceStateOpen || r.State == types.SpotInstanceStateActive {
			out = append(out, *r.SpotInstanceRequestId)
		}
	}
	return out
}

// Instances returns the instances of the world's region that are not terminated.
func (w *World) Instances() []types.Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.site(w.opt.Region)
	s.settle()
	var out []types.Instance
	for _, id := range s.alive() {
		v, _ := s.ec2.instances.get(id) // alive returns existing IDs
		out = append(out, *v)
	}
	return out
}

// UserData returns the decoded user data of an instance.
func (w *World) UserData(instance string) string { return w.hidden(instance).userData }

// Protected reports whether termination protection of an instance is enabled.
func (w *World) Protected(instance string) bool { return w.hidden(instance).protected }

func (w *World) hidden(instance string) machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sites {
		if m, ok := s.ec2.machines[instance]; ok {
			return *m
		}
	}
	return machine{}
}

// SetConsole sets the console output of an instance.
func (w *World) SetConsole(instance, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sites {
		if m, ok := s.ec2.machines[instance]; ok {
			m.console = text
		}
	}
}

// Object returns the current content of an object.
func (w *World) Object(bucketName, key string) (body []byte, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.s3.buckets.get(bucketName)
	if !ok {
		return nil, false
	}
	o, found := b.current(key)
	return slices.Clone(o.body), found
}

// Secret returns the value of a secret in the world's region, including one that is scheduled for
// deletion.
func (w *World) Secret(name string) (text string, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.site(w.opt.Region).vault.secrets.get(name)
	if !ok {
		return "", false
	}
	return aws.ToString(v.text), true
}
