package k8s_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/test/rest"
)

// registrysWords is the error of the registry that every wait for missingTag must report.
const registrysWords = `failed to resolve reference "det-deploy:9.9.9": not found`

// hear collects messages and returns a function that returns them.
func (s *stage) hear() func() string {
	var mu sync.Mutex
	var all strings.Builder
	s.sink = event.Serial(func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		all.WriteString(e.Message + "\n")
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// An upgrade to an image that does not exist reports the registry's error immediately, ends early,
// and leaves nothing but a serving cluster.
func TestUpgradeReportsMissingImage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	must(t, s.up(t.Context()))
	s.settled()
	s.tagged(missingTag)
	told, begun := s.hear(), time.Now()
	_, err := s.upgrade(t.Context())
	took := time.Since(begun)
	if err == nil || !strings.Contains(err.Error(), registrysWords) {
		t.Fatalf("got %v, want the registry's error", err)
	}
	if !strings.Contains(told(), registrysWords) {
		t.Errorf("got told %s, want the registry's error while it waits", told())
	}
	if took > 2*time.Minute {
		t.Errorf("it took %s, want that a wait for nothing ends", took)
	}
	if jobs := s.kubectl("-n", s.namespace, "get", "jobs", "-o", "name"); strings.TrimSpace(jobs) != "" {
		t.Errorf("got %s left", jobs)
	}
	s.values = right
	must(t, s.do(installer.ActInstall))
	must(t, s.do(installer.ActUpgrade))
}

// Install changes a serving master only if the new image can be pulled.
func TestInstallWarnsOfMissingImage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	s.values = s.with("image", tree{"tag": "1.0.0"})
	must(t, s.up(t.Context()))
	s.settled()
	s.values = s.with("image", tree{"tag": "1.0.0", "name": missingName})
	if err := s.up(t.Context()); err == nil || !strings.Contains(err.Error(), `"typo:1.0.0": not found`) {
		t.Fatalf("got %v, want the registry's error", err)
	}
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want it serving", got)
	}
	s.values = right
	must(t, s.up(t.Context()))
}

// Install changes a serving master only if the new image accepts the values. The objects of the
// check are deleted.
func TestInstallWarnsOfValuesRejectedByImage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	must(t, s.up(t.Context()))
	s.settled()
	s.values = s.with("clusterName", refusedName)
	if err := s.up(t.Context()); err == nil || !strings.Contains(err.Error(), "run `det-deploy master config` in job") {
		t.Fatalf("got %v, want that the image refuses the values", err)
	}
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want it serving", got)
	}
	s.values = right
	must(t, s.up(t.Context()))
	s.values = s.with("clusterName", "other")
	must(t, s.up(t.Context()))
	eventually(t, func() error {
		list, err := s.api.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, secret := range list.Items {
			if strings.HasPrefix(secret.Name, "determined-check-") {
				return fmt.Errorf("%s is left", secret.Name)
			}
		}
		return nil
	})
}

// A first install with a wrong tag reports it, and install with the right tag succeeds.
func TestInstallRecoversFromWrongTag(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	s.tagged(missingTag)
	s.wait = true
	if err := s.do(installer.ActInstall); err == nil || !strings.Contains(err.Error(), registrysWords) {
		t.Fatalf("got %v, want the registry's error", err)
	}
	s.wait, s.values = false, right
	must(t, s.do(installer.ActInstall))
	s.settled()
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want it serving", got)
	}
}

// After the rollback of a master that does not become ready, no upgrade is in progress.
func TestRollbackEndsUpgrade(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newStage(t)
	playing(s)
	right := s.values
	must(t, s.up(t.Context()))
	s.settled()
	s.tagged(brokenTag)
	if _, err := s.upgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "the release was rolled back, and serves") || !strings.Contains(err.Error(), "exited with code 1") {
		t.Fatalf("got %v, want why the new one did not serve, and that the old one does", err)
	}
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want it serving", got)
	}
	s.values = right
	must(t, s.do(installer.ActInstall))
}

// Rejections by a quota or a Pod Security level are reported with the server's message, also for an
// errand.
func TestRejectedPodOfUpgradeIsReported(t *testing.T) {
	t.Parallel()
	s := newInstalled(t, playing)
	s.apply(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"full"},"spec":{"hard":{"pods":"1"}}}`)
	eventually(t, func() error {
		_, err := s.api.CoreV1().ResourceQuotas(s.namespace).Get(t.Context(), "full", metav1.GetOptions{})
		return err
	})
	if err := s.do(installer.ActUpgrade); err == nil || !strings.Contains(err.Error(), "exceeded quota: full") {
		t.Errorf("got %v, want the server's error on the quota", err)
	}
	if got := s.at(); got != installer.Serving {
		t.Errorf("got it %s, want the old master untouched", got)
	}
}
