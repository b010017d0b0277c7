package helm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
)

// runHooks runs what a revision does at one of its steps, one hook after the other, by
// their weights. Each is written down before it begins.
func (r *run) runHooks(rel *release.Release, event release.HookEvent) error {
	hooks := hooksOf(rel, event)
	for i, h := range hooks {
		if len(h.DeletePolicies) == 0 {
			h.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
		}
		if err := r.deleteHook(h, release.HookBeforeHookCreation); err != nil {
			return err
		}
		h.LastRun = release.HookExecution{StartedAt: helmtime.Now(), Phase: release.HookPhaseRunning}
		if err := r.config.Releases.Update(rel); err != nil {
			return fmt.Errorf("write down that %s hook %s runs: %w", event, h.Path, err)
		}
		made, err := r.runHook(h)
		h.LastRun.CompletedAt = helmtime.Now()
		if err != nil {
			h.LastRun.Phase = release.HookPhaseFailed
			if made {
				err = errors.Join(err, r.deleteHook(h, release.HookFailed))
			}
			return errors.Join(err, r.deleteHooks(hooks[:i]))
		}
		h.LastRun.Phase = release.HookPhaseSucceeded
	}
	return r.deleteHooks(hooks)
}

// hooksOf are the hooks of an event, in their order.
func hooksOf(rel *release.Release, event release.HookEvent) []*release.Hook {
	var out []*release.Hook
	for _, h := range rel.Hooks {
		if slices.Contains(h.Events, event) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b *release.Hook) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// runHook makes a hook's object and waits for its end. Made is false where the object could
// not be made: what is there under its name is an earlier run's, as the snapshot that the
// last upgrade took of the database, and stays.
func (r *run) runHook(h *release.Hook) (made bool, err error) {
	list, err := r.worker.Build(bytes.NewBufferString(h.Manifest), false)
	if err != nil {
		return false, fmt.Errorf("read hook %s: %w", h.Path, err)
	}
	if _, err := r.worker.Create(list); err != nil {
		return false, fmt.Errorf("make hook %s: %w", h.Path, err)
	}
	return true, r.worker.WatchUntilReady(list, hookLimit)
}

// deleteHooks deletes what is to be deleted once it has succeeded, the last first.
func (r *run) deleteHooks(hooks []*release.Hook) error {
	for _, h := range slices.Backward(hooks) {
		if err := r.deleteHook(h, release.HookSucceeded); err != nil {
			return err
		}
	}
	return nil
}

// deleteHook deletes a hook's object where its policy says so, and waits until it is gone.
func (r *run) deleteHook(h *release.Hook, policy release.HookDeletePolicy) error {
	if h.Kind == "CustomResourceDefinition" || !slices.Contains(h.DeletePolicies, policy) {
		return nil
	}
	list, err := r.worker.Build(bytes.NewBufferString(h.Manifest), false)
	if err != nil {
		return fmt.Errorf("read hook %s: %w", h.Path, err)
	}
	if _, errs := r.worker.Delete(list); len(errs) > 0 {
		return fmt.Errorf("delete hook %s: %w", h.Path, errors.Join(errs...))
	}
	return r.worker.WaitForDelete(list, hookLimit)
}
