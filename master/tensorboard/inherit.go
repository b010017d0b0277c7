package tensorboard

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// source is an experiment to show, with its configuration and the place of its files.
type source struct {
	part       tasklife.BoardPart
	experiment record.Experiment
	config     config.Experiment
	place      place
}

// mayRead reports whether a user may read the whole configuration of the experiment.
func (s source) mayRead(by *apiv1.User) bool {
	return by.GetAdmin() || by.GetId() == s.experiment.UserID
}

// readSources reads the experiments of parts. It returns an error if one cannot be shown, or not together with
// the others.
func (t *TensorBoards) readSources(ctx context.Context, parts []tasklife.BoardPart) ([]source, error) {
	var sources []source
	var places []place
	for _, p := range parts {
		x, err := t.cfg.Experiments.Get(p.Experiment)
		if err != nil {
			return nil, err
		}
		reported, err := checkpoint.Reported(ctx, t.cfg.Store, x.ID)
		if err == nil {
			err = checkShown(x.Experiment, reported)
		}
		if err == nil {
			err = checkpoint.CheckTensorBoards(ctx, t.cfg.Store, x.ID)
		}
		if err != nil {
			return nil, err
		}
		s := source{part: p, experiment: x.Experiment}
		if s.config, err = checkpoint.ConfigOf(ctx, t.cfg.Store, x.ID); err != nil {
			return nil, err
		}
		s.place = place{x.ID, s.config.CheckpointStorage}
		if err := s.place.check(t.cluster()); err != nil {
			return nil, err
		}
		sources, places = append(sources, s), append(places, s.place)
	}
	return sources, checkTogether(places)
}

func (t *TensorBoards) cluster() string { return t.cfg.Store.Meta().ClusterID }

// inherit returns the settings that a TensorBoard takes from its experiments: image, credentials of the
// registry, variables, pod spec and pool from the latest one, and mounts from all, for reading. Those who may
// not read the whole configuration get neither variables nor credentials, and the pod's place and volumes.
func inherit(by *apiv1.User, sources []source) (spec.Config, error) {
	latest := sources[len(sources)-1]
	var c spec.Config
	of := latest.config.Environment
	c.Environment.Image, c.Resources.ResourcePool = of.Image, latest.experiment.Queue.Pool
	if latest.mayRead(by) {
		c.Environment.Variables, c.Environment.RegistryAuth, c.Environment.PodSpec = of.Variables, of.RegistryAuth, of.PodSpec
	} else {
		var err error
		if c.Environment.PodSpec, err = sharedPart(of.PodSpec); err != nil {
			return c, fmt.Errorf("read the pod spec of experiment %d: %w", latest.experiment.ID, err)
		}
	}
	for _, s := range sources {
		for _, m := range s.config.BindMounts {
			m.ReadOnly = true
			at := slices.IndexFunc(c.BindMounts, func(o container.BindMount) bool { return path.Clean(o.ContainerPath) == path.Clean(m.ContainerPath) })
			if at >= 0 && path.Clean(c.BindMounts[at].HostPath) != path.Clean(m.HostPath) {
				return c, status.New(status.InvalidArgument, "experiment %d has another directory at %s than an experiment before it; start a TensorBoard for each", s.experiment.ID, m.ContainerPath)
			}
			if at < 0 {
				c.BindMounts = append(c.BindMounts, m)
			}
		}
	}
	return c, nil
}

// without removes the variables that a task has anyway.
func without(v, has container.Environment) container.Environment {
	minus := func(list, has []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(has, one) })
	}
	return container.Environment{CPU: minus(v.CPU, has.CPU), CUDA: minus(v.CUDA, has.CUDA), ROCm: minus(v.ROCm, has.ROCm)}
}

// notGiven removes the images that a task has anyway, which its user has not chosen.
func notGiven(i, given container.Images) container.Images {
	unless := func(image, given string) string {
		if image == cmp.Or(given, spec.DefaultImage) {
			return ""
		}
		return image
	}
	return container.Images{CPU: unless(i.CPU, given.CPU), CUDA: unless(i.CUDA, given.CUDA), ROCm: unless(i.ROCm, given.ROCm)}
}

// sameKeys reports whether two storages have the same keys.
func sameKeys(a, b masterconfig.CheckpointStorage) bool {
	return slices.EqualFunc(keysOf(a), keysOf(b), func(a, b secret.Value) bool { return a.Reveal() == b.Reveal() })
}

func keysOf(s masterconfig.CheckpointStorage) []secret.Value {
	switch {
	case s.S3 != nil:
		return []secret.Value{s.S3.AccessKey, s.S3.SecretKey}
	case s.Azure != nil:
		return []secret.Value{s.Azure.ConnectionString, s.Azure.Credential}
	}
	return nil
}
