// Package layout decides where the machines of a cluster on Google Cloud run and from which images
// they boot. It resolves zones, machine types, images and accounts once and keeps the results.
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

// Known holds the facts that were read from Google once and then recorded. New images and zones
// thus do not change an existing cluster, and `down` works without reading them again.
type Known struct {
	// Zones are those of the region when they were first read.
	Zones []string `json:"zones,omitempty"`
	// Types describes machine types with their GPUs, named as in an offer:
	// "n1-standard-8+4xnvidia-tesla-t4".
	Types machines.Types `json:"types,omitempty"`
	// Images maps machine role and architecture, such as "master/amd64", to stock images.
	Images map[string]string `json:"images,omitempty"`
	// DiskZone is the zone of an existing disk for the master's data.
	DiskZone string `json:"disk_zone,omitempty"`
	// DefaultAccount is the e-mail of Compute Engine's default service account, if a machine uses
	// it.
	DefaultAccount string `json:"default_account,omitempty"`
	// DeterminedPassword reports whether the user determined has its own initial password.
	DeterminedPassword bool `json:"determined_password,omitempty"`
	// Master is the location of the master's machine.
	Master MasterPlace `json:"master,omitzero"`
}

// MasterPlace is the location of the master's machine.
type MasterPlace struct {
	Zone string `json:"zone,omitempty"`
}

// ReadKnown reads the settings that Remember has written.
func ReadKnown(settings map[string]string) (Known, error) { return hosted.ReadKnown[Known](settings) }

// Layout combines the spec of a cluster with the facts known about Google Cloud.
type Layout struct {
	// Spec is the requested configuration.
	Spec spec.GCP
	// Known holds the facts that earlier runs have read.
	Known Known
}

// reader holds the facts while Look reads them; they replace the caller's at the end.
type reader struct {
	Layout

	facts facts.Facts
}

// Look reads everything that the spec mentions and that is still unknown. It calls password to
// learn whether `up` generates a password for the user determined. It changes nothing.
func (l Layout) Look(ctx context.Context, clients api.Clients, password func(context.Context) (bool, error)) (Known, error) {
	k := &l.Known
	k.Types, k.Images, k.Zones = maps.Clone(k.Types), maps.Clone(k.Images), slices.Clone(k.Zones)
	r := &reader{Layout: l, facts: facts.Facts{Clients: clients}}
	readPassword := func(ctx context.Context) (err error) {
		r.Known.DeterminedPassword, err = password(ctx)
		return err
	}
	look := machines.InTurn(
		// These do not depend on each other.
		machines.SideBySide(machines.InTurn(r.readZones, r.readTypes, r.readImages), r.readDisk, r.readDefaultAccount, readPassword),
		r.chooseMasterZone,
	)
	if err := look(ctx); err != nil {
		return Known{}, err
	}
	return r.Known, nil
}

// allTypes returns every machine type that the spec names.
func allTypes(s spec.GCP) map[string]machinetype.Type {
	out := map[string]machinetype.Type{s.Master.MachineType: {MachineType: s.Master.MachineType}}
	for _, p := range s.AllPools() {
		for _, m := range p.Machines {
			out[m.Type().String()] = m.Type()
		}
	}
	return out
}

// TypesOf returns the types of a pool's machines, named as in offers.
func TypesOf(p spec.GCPPool) []string {
	out := make([]string, len(p.Machines))
	for i, m := range p.Machines {
		out[i] = m.Type().String()
	}
	return out
}

// poolTypes returns the machine types of each pool.
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

// maker returns the manufacturer of a GPU: Google's names begin with it.
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
		Err: errors.New("unknown machine type in " + region),
	}
}
