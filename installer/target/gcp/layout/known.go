// Package layout is where the machines of a cluster on Google Cloud are and what they boot
// from: zones, machine types, images and accounts, asked of Google once and then kept.
package layout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Known is what was asked of Google once and then kept, so that a new image or zone of
// Google's changes no cluster, and a cluster can be taken down without asking again.
type Known struct {
	// Zones are those of the region when they were first asked for.
	Zones []string `json:"zones,omitempty"`
	// Types is what is known of machine types with their GPUs, as an offer names them:
	// "n1-standard-8+4xnvidia-tesla-t4".
	Types machines.Types `json:"types,omitempty"`
	// Images is the stock images by whom they are for: "master/amd64".
	Images map[string]string `json:"images,omitempty"`
	// DiskZone is that of an existing disk for the master's data.
	DiskZone string `json:"disk_zone,omitempty"`
	// DefaultAccount is the e-mail of Compute Engine's own service account, where a
	// machine has it.
	DefaultAccount string `json:"default_account,omitempty"`
	// DeterminedPassword says that a first password was made for determined.
	DeterminedPassword bool `json:"determined_password,omitempty"`
	// Master is where the master's machine is.
	Master MasterPlace `json:"master,omitzero"`
}

// MasterPlace is where the master's machine is.
type MasterPlace struct {
	Zone string `json:"zone,omitempty"`
}

// ReadKnown reads what Remember wrote.
func ReadKnown(settings map[string]string) (Known, error) { return hosted.ReadKnown[Known](settings) }

// Layout is where a cluster's machines are and what they boot from: what is wanted, and
// what is known of Google.
type Layout struct {
	// Spec is what the cluster should be.
	Spec spec.GCP
	// Known is what was asked of Google before and is kept.
	Known Known
}

// reader is a Look under way: what it knows so far replaces the caller's at the end.
type reader struct {
	Layout

	facts facts.Facts
}

// Look asks Google for everything that the spec mentions and that is not known yet, and
// by password whether `up` generates one for the user determined. It changes nothing.
func (l Layout) Look(ctx context.Context, clients api.Clients, password func(context.Context) (bool, error)) (Known, error) {
	k := &l.Known
	k.Types, k.Images, k.Zones = maps.Clone(k.Types), maps.Clone(k.Images), slices.Clone(k.Zones)
	r := &reader{Layout: l, facts: facts.Facts{Clients: clients}}
	readPassword := func(ctx context.Context) (err error) {
		r.Known.DeterminedPassword, err = password(ctx)
		return err
	}
	look := machines.InTurn(
		// None of these needs to know what another one learns.
		machines.SideBySide(machines.InTurn(r.readZones, r.readTypes, r.readImages), r.readDisk, r.readDefaultAccount, readPassword),
		r.chooseMasterZone,
	)
	if err := look(ctx); err != nil {
		return Known{}, err
	}
	return r.Known, nil
}

// allTypes lists every type of machine that the spec names.
func allTypes(s spec.GCP) map[string]machinetype.Type {
	out := map[string]machinetype.Type{s.Master.MachineType: {MachineType: s.Master.MachineType}}
	for _, p := range s.AllPools() {
		for _, m := range p.Machines {
			out[m.Type().String()] = m.Type()
		}
	}
	return out
}

// TypesOf lists the types of a pool's machines as offers name them.
func TypesOf(p spec.GCPPool) []string {
	out := make([]string, len(p.Machines))
	for i, m := range p.Machines {
		out[i] = m.Type().String()
	}
	return out
}

// poolTypes lists the types of the machines of each pool.
func poolTypes(s spec.GCP) map[string][]string {
	out := make(map[string][]string)
	for name, p := range s.AllPools() {
		out[name] = TypesOf(p)
	}
	return out
}

func (r *reader) readTypes(ctx context.Context) error {
	all := allTypes(r.Spec)
	ask := r.Known.Types.Unread(slices.Sorted(maps.Keys(all)))
	if len(ask) == 0 {
		return nil
	}
	wanted := make([]machinetype.Type, len(ask))
	for i, name := range ask {
		wanted[i] = all[name]
	}
	types, err := r.facts.Types(ctx, r.Known.Zones, wanted...)
	if err != nil {
		return err
	}
	found := machines.Types{}
	for name, t := range types {
		found[name] = machines.Type{VCPU: t.VCPU, GPUs: t.GPUs, GPU: t.GPU, Maker: maker(t.GPU), Memory: t.Memory, Architectures: t.Architectures, Zones: t.Zones}
	}
	var errs []error
	known, missing := r.Known.Types.Learn(ask, found)
	for _, name := range missing {
		errs = append(errs, noType(name, r.Spec.Region))
	}
	r.Known.Types = known
	return errors.Join(errs...)
}

// maker is whose a GPU is: Google's names begin with it.
func maker(gpu string) string {
	if gpu == "" {
		return ""
	}
	return "NVIDIA"
}

func noType(name, region string) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "compute.machineTypes.list", Resource: name,
		Fix: "choose another --machine, --aux-machine or --master-machine-type, or another --region",
		Err: errors.New("there is no such machine type in " + region),
	}
}
