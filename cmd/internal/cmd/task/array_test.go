package task

import (
	"testing"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestParseArray(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want *apiv1.TaskArray // nil if an error is expected
	}{
		{"1", &apiv1.TaskArray{Size: 1}},
		{"1000", &apiv1.TaskArray{Size: 1000}},
		{"0-99", &apiv1.TaskArray{Size: 100}},
		{"5-5", &apiv1.TaskArray{First: 5, Size: 1}},
		{"0", nil},
		{"9-3", nil},
		{"1,3", nil},
		{"0-9:2", nil},
		{"0-9%2", nil},
		{"-3", nil},
		{"99999999999999999999", nil},
	} {
		got, err := parseArray(tc.text)
		if (err != nil) != (tc.want == nil) || !proto.Equal(got, tc.want) {
			t.Errorf("%q: got %v and %v, want %v", tc.text, got, err, tc.want)
		}
	}
	if got, err := parseArray(""); got != nil || err != nil {
		t.Errorf("got %v and %v for none, want none", got, err)
	}
}
