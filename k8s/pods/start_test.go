package pods

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
)

func TestStartTimeoutOfContainer(t *testing.T) {
	t.Parallel()
	l := DefaultLimits()
	pull := observe.Container{Stuck: "ImagePullBackOff: denied"}
	mount := observe.Container{Stuck: "FailedMount: not found", Slow: true}
	for name, c := range map[string]struct {
		seen        observe.Container
		after       time.Duration
		told, ended bool
	}{
		"an image is told at once":             {seen: pull, told: true},
		"an image is waited for":               {seen: pull, after: l.Start - 1, told: true},
		"an image does not come":               {seen: pull, after: l.Start, told: true, ended: true},
		"an image that can never come":         {seen: observe.Container{Stuck: "InvalidImageName", Hopeless: true}, told: true, ended: true},
		"a volume that is late is not told":    {seen: mount, after: observe.SlowReportAfter - 1},
		"a volume that is later is":            {seen: mount, after: observe.SlowReportAfter, told: true},
		"a volume is waited for longer":        {seen: mount, after: l.Volume - 1, told: true},
		"a volume does not come":               {seen: mount, after: l.Volume, told: true, ended: true},
		"what has passed is not told any more": {seen: observe.Container{}, after: l.Volume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &runner{cfg: Config{Limits: l}, state: newState(Config{})}
			now, one := time.Now(), &container{pod: "p", node: "n1"}
			if c.after > 0 {
				r.diagnoseAllocation(&allocation{}, one, &observe.Container{Stuck: c.seen.Stuck, Slow: true}, now)
			}
			r.diagnoseAllocation(&allocation{}, one, &c.seen, now.Add(c.after))
			if told, ended := one.trouble != "", one.decidedExit != nil; told != c.told || ended != c.ended {
				t.Errorf("got told %t (%s), ended %t; want %t, %t", told, one.trouble, ended, c.told, c.ended)
			}
		})
	}
}
