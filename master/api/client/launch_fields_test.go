package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// A master of an earlier version would start a task at once that is to wait for others.
func TestLaunchIsRefusedWhereItWouldBeIgnored(t *testing.T) {
	t.Parallel()
	after := &apiv1.LaunchCommandRequest{After: []*apiv1.TaskDependency{{TaskId: "a"}}}
	labels := &apiv1.LaunchCommandRequest{Labels: map[string]string{"team": "x"}}
	for name, tc := range map[string]struct {
		in      *apiv1.LaunchCommandRequest
		about   string
		refused string
	}{
		"after, earlier master":   {after, `{}`, "would ignore the task's after; upgrade the cluster first"},
		"labels, earlier master":  {labels, `{"launchFields": ["request_id", "after"]}`, "would ignore the task's labels; upgrade the cluster first"},
		"after, known":            {after, `{"launchFields": ["after", "labels"]}`, ""},
		"neither, earlier master": {&apiv1.LaunchCommandRequest{}, `{}`, ""},
	} {
		launched := false
		c := dial(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				launched = true
				fmt.Fprint(w, `{}`)
				return
			}
			fmt.Fprint(w, tc.about)
		})
		_, err := c.Launch(t.Context(), tc.in)
		if launched != (tc.refused == "") || (err == nil) != launched || err != nil && (!strings.Contains(err.Error(), tc.refused) || client.KindOf(err) != client.Unbuilt) {
			t.Errorf("%s: got launched %t and %v, want %q", name, launched, err, tc.refused)
		}
	}
}
