package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// shape works out how many pods an allocation has and what each asks for. The error
// says that there can be none. RM.mu is held.
func (r *RM) shape(a *allocation) error {
	p, err := r.poolOf(a.Request)
	if err != nil {
		return err
	}
	pods, slots, err := p.split(a.Request)
	if err != nil {
		return err
	}
	draft, err := podspec.Draft(a.Request, p.Template)
	if err != nil {
		return fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	s, err := gang.PodOf(draft)
	if err != nil {
		return fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	a.pool, a.pod = p.Name, s
	a.contain(pods, slots, p.Template.SlotType)
	return nil
}

// contain gives an allocation its containers, of so many slots each.
func (a *allocation) contain(pods, slots int, kind podspec.SlotType) {
	a.containers = nil
	for rank := range pods {
		c := &container{id: podspec.ContainerID(a.Allocation, rank), rank: rank, state: apiv1.Container_STATE_ASSIGNED}
		for i := range slots {
			c.devices = append(c.devices, &apiv1.Device{
				Id: int32(i), Type: deviceType(kind), Brand: string(kind), //nolint:gosec // slots of one pod
			})
		}
		a.containers = append(a.containers, c)
	}
}

// split says how many pods a request gets and how many slots each has. The error has
// the words of an rm.Unfulfillable and is none: no node that may come changes it, so
// that there is nothing to wait for.
func (p Pool) split(q rm.Request) (pods, slots int, err error) {
	pods, slots, err = gang.Split(q.Slots, p.Template.MaxSlotsPerPod, q.SingleNode)
	if err != nil {
		u := rm.Unfulfillable{Pool: p.Name, Slots: q.Slots, Reason: err.Error()}
		return 0, 0, errors.New(u.Error())
	}
	return pods, slots, nil
}

// make makes the Job and Secret of an attempt, whichever of them there already are.
func (r *RM) make(ctx context.Context, a *allocation) time.Duration {
	if r.isReleased(a) {
		r.giveUp(a, "it was ended before it ran")
		return 0
	}
	specs, err := r.cfg.Tasks.Assigned(ctx, r.assignment(a))
	if ctx.Err() != nil {
		return retryAfter
	}
	if err == nil && len(specs) != len(a.containers) {
		err = fmt.Errorf("allocation %s has %d containers and %d of them are described", a.Allocation, len(a.containers), len(specs))
	}
	if err != nil {
		r.refuse(a, err)
		return 0
	}
	order := r.order(a, specs)
	if r.cfg.Logins != nil {
		if order.Template.Logins, err = r.cfg.Logins(); err != nil {
			return r.again(ctx, "read the pull Secret", a, err)
		}
	}
	objects, err := podspec.Build(order)
	if err != nil {
		r.refuse(a, err)
		return 0
	}
	return r.place(ctx, a, objects)
}

func (r *RM) assignment(a *allocation) rm.Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := rm.Assignment{Allocation: a.Allocation, Pool: a.pool, At: a.decided}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describe())
	}
	return out
}

// order is an attempt as its objects are made from. RM.mu is not held.
func (r *RM) order(a *allocation, specs []*agentv1.Spec) podspec.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _ := r.cfg.pool(a.pool)
	o := podspec.Request{Request: a.Request, Template: p.Template, Attempt: a.attempt, Specs: specs}
	o.Pool, o.Priority = a.pool, a.priority
	o.ExcludedAgents = slices.AppendSeq(slices.Clone(a.ExcludedAgents), maps.Keys(r.switches))
	slices.Sort(o.ExcludedAgents)
	o.ExcludedAgents = slices.Compact(o.ExcludedAgents)
	return o
}

// jobName is the name of the Job of an allocation's current attempt.
func (r *RM) jobName(a *allocation) string { return podspec.JobName(a.Allocation, a.attempt) }

// place sends the objects to the API server. Repeating it changes nothing.
func (r *RM) place(ctx context.Context, a *allocation, o podspec.Objects) time.Duration {
	job, err := r.makeJob(ctx, o.Job)
	switch {
	case err != nil:
		return r.unmade(ctx, a, err)
	case job.DeletionTimestamp != nil:
		// That of an attempt before a restart, on its way out.
		r.mu.Lock()
		a.attempt++
		r.mu.Unlock()
		return time.Millisecond
	}
	if err := r.makeOwned(ctx, job, o); err != nil {
		return r.unmade(ctx, a, err)
	}
	r.mu.Lock()
	// The decision goes on with what the pods really are.
	if pod, err := gang.PodOf(&job.Spec.Template.Spec); err == nil {
		a.pod = pod
	}
	r.mu.Unlock()
	r.move(a, Making, Gated)
	return 0
}

// makeOwned makes what a Job owns, and its pods need.
func (r *RM) makeOwned(ctx context.Context, job *batchv1.Job, o podspec.Objects) error {
	core := r.cfg.Client.CoreV1()
	for _, s := range o.Secrets {
		podspec.Own(job, s)
		_, err := core.Secrets(r.cfg.Namespace).Create(ctx, s, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make secret %s: %w", s.Name, err)
		}
	}
	if o.Service == nil {
		return nil
	}
	podspec.Own(job, o.Service)
	_, err := core.Services(r.cfg.Namespace).Create(ctx, o.Service, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make service %s: %w", o.Service.Name, err)
	}
	return nil
}

func (r *RM) makeJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	jobs := r.cfg.Client.BatchV1().Jobs(r.cfg.Namespace)
	made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = jobs.Get(ctx, job.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("make job %s: %w", job.Name, err)
	}
	return made, nil
}

// unmade judges why an object could not be made: what the API server will never
// take ends the allocation, what it may take later is tried again.
func (r *RM) unmade(ctx context.Context, a *allocation, err error) time.Duration {
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err):
		r.refuse(a, err)
		return 0
	case apierrors.IsForbidden(err):
		// A quota, an admission webhook, or a missing permission.
		r.giveUp(a, err.Error())
		return 0
	}
	return r.again(ctx, "make objects", a, err)
}

// refuse ends an allocation that cannot be run.
func (r *RM) refuse(a *allocation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kill(a, rm.CauseRefused, err.Error())
	r.undo(a, err.Error(), time.Time{})
}

// giveUp undoes an attempt, which is made again when its pause is over.
func (r *RM) giveUp(a *allocation, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.cfg.Gang
	r.undo(a, why, time.Now().Add(min(o.BackOff<<min(a.tries, 16), o.MaxBackOff)))
}
