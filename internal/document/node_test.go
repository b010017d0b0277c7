package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestSimpleNodeMatchesEncoder(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Errorf(string, ...any) }, v any) {
		got := simpleNode(v)
		if got == nil {
			return
		}
		var want yaml.Node
		if err := want.Encode(v); err != nil {
			t.Errorf("encode %v: %v", v, err)
		}
		if d := cmp.Diff(*got, want, cmpopts.IgnoreFields(yaml.Node{}, "Line", "Column")); d != "" {
			t.Errorf("%#v (-got +want):\n%s", v, d)
		}
	}
	for _, v := range []any{
		true, false, 0, -3, 1 << 40, "", "a", "resource_pool", "/run/determined/workdir", "y", "No", "TRUE", "null", "Off",
		"1", "1e3", ".inf", "~", "a: b", "x ", "e1", "inf", "NaN", "a-", "n/a", "0x1f", "a#b", "yes.no", "2026-11-21",
	} {
		check(t, v)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9/_.~-]{0,6}`)).Draw(t, "text"))
	})
}
