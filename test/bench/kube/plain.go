package main

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// plainLabel marks plain Jobs and their pods.
const plainLabel = "bench.det-deploy.dev/plain"

// sideBySide limits concurrent calls where one program makes many.
const sideBySide = 32

// plainJobs runs the same pods as Indexed Jobs that Kubernetes schedules alone, and counts them
// with one watch.
type plainJobs struct {
	size
	caller *caller
	jobs   []*batchv1.Job

	mu sync.Mutex // guards running
	// running is the set of running pods.
	running map[string]bool
}

func runPlain(ctx context.Context, c *caller, s size) (side, func() error, error) {
	p := &plainJobs{size: s, caller: c, running: make(map[string]bool)}
	for range s.gangs {
		job, err := plainJob(s)
		if err != nil {
			return side{}, nil, err
		}
		p.jobs = append(p.jobs, job)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = plainLabel }))
	i := f.Core().V1().Pods().Informer()
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: p.countPod, UpdateFunc: func(_, o any) { p.countPod(o) }}); err != nil {
		cancel()
		return side{}, nil, err
	}
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	return side{p.runJobs, p.removeJobs}, func() error { cancel(); f.Shutdown(); return nil }, nil
}

// plainJob returns the Job of a gang without scheduling gate and without our labels.
func plainJob(s size) (*batchv1.Job, error) {
	q := newRequest(s)
	specs := make([]*agentv1.Spec, s.pods)
	for i := range specs {
		specs[i] = benchSpec()
	}
	made, err := podspec.Build(podspec.Request{Request: q, Template: newTemplate(s), Attempt: 1, Specs: specs})
	if err != nil {
		return nil, err
	}
	job := made.Job
	labels := map[string]string{plainLabel: "true"}
	job.Name, job.Labels = "plain-"+uuid.NewString(), labels
	job.Spec.Template.Labels, job.Spec.Template.Spec.SchedulingGates = labels, nil
	return job, nil
}

func newRequest(s size) rm.Request {
	task := uuid.NewString()
	return rm.Request{
		Allocation: rm.AllocationID(task + ".1"), Task: rm.TaskID(task), Job: rm.JobID(task), Name: "bench",
		Username: "ann", Slots: s.pods * s.slots, Submitted: time.Now(),
	}
}

func (p *plainJobs) countPod(o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Status.Phase != corev1.PodRunning {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[pod.Name] = true
}

// runJobs creates the Jobs and waits until their pods run.
func (p *plainJobs) runJobs(ctx context.Context) (time.Duration, error) {
	return p.timeStep(ctx, func(ctx context.Context, job *batchv1.Job) error {
		_, err := p.caller.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{})
		return err
	}, func(context.Context) (bool, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.running) == p.gangs*p.pods, nil
	})
}

// removeJobs deletes the Jobs.
func (p *plainJobs) removeJobs(ctx context.Context) (time.Duration, error) {
	how := metav1.DeletePropagationBackground
	return p.timeStep(ctx, func(ctx context.Context, job *batchv1.Job) error {
		return p.caller.BatchV1().Jobs(namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &how})
	}, func(ctx context.Context) (bool, error) { return p.caller.isEmpty(ctx, plainLabel) })
}

// timeStep calls do with each Job and returns the time until so returns true.
func (p *plainJobs) timeStep(ctx context.Context, do func(context.Context, *batchv1.Job) error, so func(context.Context) (bool, error)) (time.Duration, error) {
	began := time.Now()
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(sideBySide)
	for _, job := range p.jobs {
		g.Go(func() error { return do(inner, job) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	err := awaitSo(ctx, so)
	return time.Since(began), err
}

// glance is the interval at which the end of a step is polled.
const glance = 100 * time.Millisecond

// awaitSo polls until so returns true or an error.
func awaitSo(ctx context.Context, so func(context.Context) (bool, error)) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		done, err := so(ctx)
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// isEmpty reports whether no pod, Job, Secret or Service has the label.
func (c *caller) isEmpty(ctx context.Context, label string) (bool, error) {
	one := metav1.ListOptions{LabelSelector: label, Limit: 1} // not counted for either side
	pods, err := c.CoreV1().Pods(namespace).List(ctx, one)
	if err != nil || len(pods.Items) > 0 {
		return false, err
	}
	jobs, err := c.BatchV1().Jobs(namespace).List(ctx, one)
	if err != nil || len(jobs.Items) > 0 {
		return false, err
	}
	secrets, err := c.CoreV1().Secrets(namespace).List(ctx, one)
	if err != nil || len(secrets.Items) > 0 {
		return false, err
	}
	services, err := c.CoreV1().Services(namespace).List(ctx, one)
	return err == nil && len(services.Items) == 0, err
}
