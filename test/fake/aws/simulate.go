package awstest

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// evaluatorOf returns the evaluation for a principal: a role's own policies, and Grant for all others.
func (s *site) evaluatorOf(principal string) Granted {
	for _, r := range s.iam.roles.listed() {
		if aws.ToString(r.Arn) == principal {
			return r.grants
		}
	}
	return s.granted
}

// statement is the part of a policy statement that a simulation evaluates.
type statement struct {
	Effect    string
	Action    texts
	Resource  texts
	Condition map[string]map[string]any
}

// texts is a string or a list of strings.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func (t texts) match(value string) bool {
	return slices.ContainsFunc(t, func(pattern string) bool { return matchesPattern(pattern, value) })
}

// matchesPattern matches like IAM: a star matches any text.
func matchesPattern(pattern, value string) bool {
	flat := strings.NewReplacer("/", ":", "[", "(", "]", ")")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(value))
	return err == nil && ok
}

// grants evaluates the role's inline policies. It does not evaluate conditions and returns their
// keys as missing.
func (r *role) grants(action, resource string, _ map[string]string) (allowed bool, missing []string) {
	for _, d := range r.inline {
		var policy struct{ Statement []statement }
		if json.Unmarshal([]byte(d.text), &policy) != nil {
			continue
		}
		for _, st := range policy.Statement {
			if st.Effect != "Allow" || !st.Action.match(action) || !st.Resource.match(resource) {
				continue
			}
			if len(st.Condition) == 0 {
				return true, nil
			}
			for _, keys := range st.Condition {
				missing = append(missing, slices.Sorted(maps.Keys(keys))...)
			}
		}
	}
	return false, missing
}
