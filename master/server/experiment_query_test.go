package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestListExperimentsParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query string
		want        *apiv1.GetExperimentsRequest
		refused     string
	}{
		{name: "none", want: &apiv1.GetExperimentsRequest{}},
		{
			name: "all, as the client writes them",
			query: "archived=false&limit=200&offset=7&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_NAME&users=a&users=b&userIds=3&states=STATE_ACTIVE&states=STATE_ERROR" +
				"&labels=x&name=n&description=d&projectId=4&experimentIdFilter.incl=1&experimentIdFilter.incl=2&experimentIdFilter.notIn=5&experimentIdFilter.gt=9&experimentIdFilter.lte=20",
			want: &apiv1.GetExperimentsRequest{
				Archived: new(false), Limit: 200, Offset: 7, Descending: true, SortBy: apiv1.GetExperimentsRequest_SORT_BY_NAME,
				Users: []string{"a", "b"}, UserIds: []int32{3}, States: []apiv1.Experiment_State{apiv1.Experiment_STATE_ACTIVE, apiv1.Experiment_STATE_ERROR},
				Labels: []string{"x"}, Name: "n", Description: "d", ProjectId: 4, Ids: []int32{1, 2}, ExcludedIds: []int32{5}, FromId: new(int32(10)), ToId: new(int32(20)),
			},
		},
		{name: "the other spelling", query: "project_id=4&sort_by=SORT_BY_UNSPECIFIED&user_ids=2", want: &apiv1.GetExperimentsRequest{ProjectId: 4, UserIds: []int32{2}}},
		{name: "a workspace and pools", query: "workspaceId=3&pools=a", want: &apiv1.GetExperimentsRequest{WorkspaceId: 3, Pools: []string{"a"}}},
		{name: "an unknown state", query: "states=STATE_LOST", refused: "states: must be one of STATE_ACTIVE, STATE_PAUSED"},
		{name: "an unknown order", query: "sortBy=SORT_BY_COLOUR", refused: "sortBy: must be one of SORT_BY_ID"},
		{name: "an invalid limit", query: "limit=-3", refused: "limit: must be -2 or more"},
		{name: "an invalid id", query: "experimentIdFilter.incl=x", refused: "experimentIdFilter.incl: must be whole numbers"},
		{name: "an invalid bound", query: "experimentIdFilter.gt=x", refused: "experimentIdFilter.gt: must be a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			call := &call{Request: httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/experiments?"+c.query, nil)}
			got := call.experimentsRequest()
			if c.refused != "" {
				if call.query().Err() == nil || !strings.Contains(call.query().Err().Error(), c.refused) {
					t.Errorf("got %v, want %q", call.query().Err(), c.refused)
				}
				return
			}
			if call.query().Err() != nil {
				t.Fatal(call.query().Err())
			}
			if d := cmp.Diff(got, c.want, protocmp.Transform()); d != "" {
				t.Errorf("(-got +want):\n%s", d)
			}
		})
	}
}

// As in Determined, a list without a limit is cut, and a client asks for the next page at its end.
func TestPageOfExperimentsWithoutLimit(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	for query, want := range map[string]string{"": `"limit":100`, "?limit=0": `"limit":100`, "?limit=-1": `"limit":-1`, "?limit=7": `"limit":7`} {
		if rec := w.ask(t, http.MethodGet, prefix+"experiments"+query, w.user, ""); !strings.Contains(squeeze(rec.Body.String()), want) {
			t.Errorf("%s: got %d %s, want %s", query, rec.Code, rec.Body, want)
		}
	}
}
