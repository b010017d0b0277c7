package pods

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// attemptAnnotation numbers the Jobs of one allocation.
const attemptAnnotation = "det-deploy.dev/attempt"

// Builder writes down in Kubernetes' words what an allocation runs. It is pure;
// k8s/podspec stands behind it.
type Builder interface {
	// Shape is a pod of a request as far as it decides where it may be: what it
	// asks for, selectors, affinity and tolerations.
	Shape(pool string, slots int) (*corev1.PodSpec, error)
	// ContainerID names the container of a rank. It is the same in every attempt.
	ContainerID(id rm.AllocationID, rank int) rm.ContainerID
	// Build makes the objects of an order. The error says what is wrong with the
	// task.
	Build(o Order) (Objects, error)
}

// Order is one attempt to run an allocation.
type Order struct {
	Request rm.Request
	Pool    string
	// Job is the name of its Job, and of the Secret beside it.
	Job        string
	Containers []rm.Container
	// Specs is what each of the containers is to run, in the same order.
	Specs []*agentv1.Spec
	// Exclude lists nodes on which its pods must not be.
	Exclude []string
}

// Objects are what an attempt is made of. The Job names the Secret, which becomes
// the Job's own.
type Objects struct {
	Job    *batchv1.Job
	Secret *corev1.Secret
}

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
	s, err := p.shapeOf(r.cfg.Objects, slots)
	if err != nil {
		return err
	}
	a.pool, a.pod, a.containers = p.Name, s, nil
	for rank := range pods {
		c := &container{id: r.cfg.Objects.ContainerID(a.Allocation, rank), rank: rank, state: apiv1.Container_STATE_ASSIGNED}
		for i := range slots {
			c.devices = append(c.devices, &apiv1.Device{
				Id: int32(i), Type: r.cfg.SlotType.device(), Brand: string(r.cfg.SlotType), //nolint:gosec // slots of one pod
			})
		}
		a.containers = append(a.containers, c)
	}
	return nil
}

// split says how many pods a request gets and how many slots each has. The error is
// an *rm.Unfulfillable.
func (p Pool) split(q rm.Request) (pods, slots int, err error) {
	pods, slots, err = gang.Split(q.Slots, p.MaxSlotsPerPod, q.SingleNode)
	if err != nil {
		return 0, 0, &rm.Unfulfillable{Pool: p.Name, Slots: q.Slots, Reason: err.Error()}
	}
	return pods, slots, nil
}

func (p Pool) shapeOf(b Builder, slots int) (*gang.Pod, error) {
	spec, err := b.Shape(p.Name, slots)
	if err != nil {
		return nil, fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	pod, err := gang.PodOf(spec)
	if err != nil {
		return nil, fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	return pod, nil
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
	objects, err := r.cfg.Objects.Build(r.order(a, specs))
	if err != nil {
		r.refuse(a, err)
		return 0
	}
	r.mark(a, objects)
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

func (r *RM) order(a *allocation, specs []*agentv1.Spec) Order {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := Order{Request: a.Request, Pool: a.pool, Job: r.jobName(a), Specs: specs}
	o.Request.Priority = a.priority
	for _, c := range a.containers {
		o.Containers = append(o.Containers, c.describe())
	}
	for id := range r.switches {
		o.Exclude = append(o.Exclude, string(id))
	}
	for _, id := range a.ExcludedAgents {
		o.Exclude = append(o.Exclude, string(id))
	}
	slices.Sort(o.Exclude)
	o.Exclude = slices.Compact(o.Exclude)
	return o
}

// jobName is the name of the Job of an allocation's current attempt: that of the
// task with the number of the try, "det-<uuid>-1-2". A Job's name is part of its pods'
// host names and must be shorter than those may be.
func (r *RM) jobName(a *allocation) string {
	task, n := string(a.Allocation), "1"
	for i := len(task) - 1; i >= 0; i-- {
		if task[i] == '.' {
			task, n = task[:i], task[i+1:]
			break
		}
	}
	return fmt.Sprintf("det-%s-%s-%d", task, n, a.attempt)
}

// mark puts on the objects what they are found by, whoever has built them.
func (r *RM) mark(a *allocation, o Objects) {
	o.Job.Name, o.Job.Namespace = r.jobName(a), r.cfg.Namespace
	if o.Job.Annotations == nil {
		o.Job.Annotations = make(map[string]string)
	}
	o.Job.Annotations[attemptAnnotation] = fmt.Sprint(a.attempt)
	metas := []*metav1.ObjectMeta{&o.Job.ObjectMeta, &o.Job.Spec.Template.ObjectMeta}
	if o.Secret != nil {
		o.Secret.Namespace = r.cfg.Namespace
		metas = append(metas, &o.Secret.ObjectMeta)
	}
	for _, m := range metas {
		if m.Labels == nil {
			m.Labels = make(map[string]string)
		}
		m.Labels[ClusterLabel], m.Labels[AllocationLabel] = r.cfg.Cluster, string(a.Allocation)
	}
}

// place sends the objects to the API server. Repeating it changes nothing.
func (r *RM) place(ctx context.Context, a *allocation, o Objects) time.Duration {
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
	if o.Secret != nil {
		o.Secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		_, err := r.cfg.Client.CoreV1().Secrets(r.cfg.Namespace).Create(ctx, o.Secret, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return r.unmade(ctx, a, fmt.Errorf("make secret %s: %w", o.Secret.Name, err))
		}
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
