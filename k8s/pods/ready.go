package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// askTime is how long the API server may take to answer a question that is asked
	// for Ready only.
	askTime = 1500 * time.Millisecond
	// silence is how long the API server may not have answered: it is upgraded and
	// restarted, and what runs goes on meanwhile.
	silence = 30 * time.Second
)

// Ready returns nil once all that there is was seen, the API server has answered
// lately, and a pass over the queues was made after it was asked.
func (r *RM) Ready(ctx context.Context) error {
	r.mu.Lock()
	seen, unknown, passed := r.watch != nil, r.unknown, r.passed
	r.mu.Unlock()
	if !seen {
		return fmt.Errorf("what runs in Kubernetes is not known yet: %s", orNothingYet(unknown))
	}
	if err := r.askAPI(ctx, time.Now()); err != nil {
		return err
	}
	r.stir()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func orNothingYet(why string) string {
	if why == "" {
		return "the watches have not begun"
	}
	return why
}

// nobody is a name that no pod of tasks has. From its memory the API server sends all
// that a selector finds, whatever the limit.
const nobody = "metadata.name=det-deploy-ready"

// askAPI has the API server look into its memory, and send nothing. Ready is asked by
// one at a time.
func (r *RM) askAPI(ctx context.Context, now time.Time) error {
	asked, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err := r.cfg.Client.CoreV1().Pods(r.cfg.Namespace).List(asked, metav1.ListOptions{FieldSelector: nobody, ResourceVersion: "0"})
	if err == nil {
		r.answered.Store(now.UnixNano())
		return nil
	}
	since := now.Sub(time.Unix(0, r.answered.Load()))
	if r.answered.Load() != 0 && since < silence {
		return nil
	}
	return errors.Join(fmt.Errorf("the API server has not answered for %s", silence), err)
}

// notePass tells who waits in Ready of the pass that ends here; the caller holds mu.
func (r *RM) notePass() {
	close(r.passed)
	r.passed = make(chan struct{})
}
