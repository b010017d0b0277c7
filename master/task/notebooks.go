package task

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/idle"
	"github.com/det-deploy/det-deploy/master/task/jupyter"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// notebookDir is the directory of a notebook's own files, and notebookPort its port unless that is taken.
const (
	notebookDir  = spec.RunDir + "/jupyter"
	notebookPort = 2900
)

func notebookKind() kind {
	return kind{
		noun: "notebook", title: "JupyterLab", entrypoint: jupyter.Entrypoint(notebookDir),
		settings: []string{"idle_timeout", "notebook_idle_type"},
		complete: func(cluster Config, c *spec.Config) error { return c.CompleteIdle(cluster.NotebookTimeout) },
		prepare: func(c spec.Config, t *lifecycle.Task) {
			t.Key, t.Notes, t.IdleType = jupyter.NewKey(), notebookNotes(c), string(c.NotebookIdleType)
			if limit := c.IdleTimeout; limit != nil {
				t.IdleTimeout = time.Duration(*limit)
			}
		},
		files:  notebookFiles,
		serves: true, ports: []spec.Port{{Variable: "NOTEBOOK_PORT", Base: notebookPort}},
		jobType: apiv1.Job_TYPE_NOTEBOOK, taskType: apiv1.TaskType_TASK_TYPE_NOTEBOOK, singleNode: true,
		job:        func(t lifecycle.Task) rm.JobID { return rm.JobID(t.ID) },
		proxyPorts: func(c spec.Config) []spec.ProxyPort { return c.Environment.ProxyPorts },
		rerun:      func(t lifecycle.Task) bool { return t.Preemptible },
	}
}

func notebookFiles(t lifecycle.Task, ports []spec.Port) []*apiv1.File {
	return jupyter.Files(notebookDir, jupyter.Settings{
		BasePath: servicePath(t.ID), Port: ports[0].Number, Key: t.Key,
		UID: int32(t.Unix.UID), GID: int32(t.Unix.GID), //nolint:gosec // checked with the user
	})
}

// servicePath is the path of a task's default service.
func servicePath(id rm.TaskID) string { return "/proxy/" + string(id) + "/" }

// notebookNotes says what is left of a notebook after its end.
func notebookNotes(c spec.Config) []string {
	var kept []string
	for _, m := range c.BindMounts {
		if !m.ReadOnly {
			kept = append(kept, m.ContainerPath)
		}
	}
	text := "This notebook has no bind mounts to write to: all its files are lost when it ends, so save them elsewhere"
	if len(kept) > 0 {
		text = "Only files in " + strings.Join(kept, ", ") + " are kept when this notebook ends; all others are lost with its container"
	}
	if t := c.IdleTimeout; t != nil {
		text += fmt.Sprintf(". It ends after %v without use", time.Duration(*t))
	}
	return []string{text}
}

// Notebook is a running notebook, as far as its program is concerned.
type Notebook struct {
	// Task is ready when its program has answered.
	idle.Task

	// Path and Port are where its program answers, and Key what requests need.
	Path string
	Port int
	Key  string
	// IdleType is what counts as use.
	IdleType spec.IdleType
}

// Notebooks returns the running notebooks.
func (run *runs) Notebooks() []Notebook {
	var out []Notebook
	for _, e := range run.reg.listServing(lifecycle.Notebook) {
		s := e.latestSnapshot()
		a := s.currentAllocation()
		c, err := runningContainer(s, 0)
		if err != nil || a.Killed != nil {
			continue
		}
		out = append(out, Notebook{
			Task: idle.Task{Allocation: a.ID, Container: c, Ready: a.Ready, IdleTimeout: s.task.IdleTimeout},
			Path: servicePath(s.task.ID), Port: spec.NumberPorts(kindOf(lifecycle.Notebook).ports, a.Ports)[0].Number,
			Key: s.task.Key, IdleType: spec.IdleType(s.task.IdleType),
		})
	}
	return out
}

// WarnIdle adds a warning to the log of an allocation.
func (run *runs) WarnIdle(ctx context.Context, id rm.AllocationID, text string) error {
	now := run.cfg.Now()
	return run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Warn(now, text) })
}

// EndIdle kills an allocation because nobody uses it.
func (run *runs) EndIdle(ctx context.Context, id rm.AllocationID, reason string) error {
	now := run.cfg.Now()
	err := run.records.changeAllocation(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Kill(reason, now) })
	if err != nil {
		return err
	}
	e, found := run.reg.findAllocation(id)
	if !found {
		return nil
	}
	return run.killDoomed(ctx, run.reg.managerOf(), e)
}
