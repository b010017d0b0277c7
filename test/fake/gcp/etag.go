package gcptest

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
)

// checkEtag returns an error if an object has changed since it was read. Without an etag, the last
// write wins. https://cloud.google.com/iam/docs/policies#etag
func checkEtag(want, have string) error {
	if want != "" && want != have {
		return &refusal{status: 409, reason: "aborted", code: "ABORTED", message: "There were concurrent changes. The etag is " + have + "."}
	}
	return nil
}

func etagOf(n int64) string {
	return base64.StdEncoding.EncodeToString([]byte("etag-" + strconv.FormatInt(n, 10)))
}

func nextEtag(etag string) string {
	b, _ := base64.StdEncoding.DecodeString(etag) // created by etagOf
	n, _ := strconv.ParseInt(strings.TrimPrefix(string(b), "etag-"), 10, 64)
	return etagOf(n + 1)
}

// failedPrecondition: https://cloud.google.com/apis/design/errors#handling_errors
func failedPrecondition(message string) *refusal {
	return &refusal{status: 400, reason: "failedPrecondition", code: "FAILED_PRECONDITION", message: message}
}

// maskedCopy returns old with the fields of next in the mask, or with all fields of next if the
// mask is empty. https://google.aip.dev/134
func maskedCopy[T any](old, next *T, mask string) *T {
	out := asMap(old)
	from := asMap(next)
	if mask == "" {
		for k, v := range from {
			out[k] = v
		}
	}
	for _, name := range strings.FieldsFunc(mask, func(r rune) bool { return r == ',' }) {
		name = camel(name)
		if v, found := from[name]; found {
			out[name] = v
		} else {
			delete(out, name)
		}
	}
	result := new(T)
	b, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(b, result)
	}
	if err != nil {
		panic(err) // the generated types are valid JSON
	}
	return result
}

// asMap converts an object of a generated type to plain JSON.
func asMap(v any) map[string]any {
	out := make(map[string]any)
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // the generated types are valid JSON
	}
	return out
}

// camel converts "included_permissions" to "includedPermissions".
func camel(s string) string {
	parts := strings.Split(strings.TrimSpace(s), "_")
	for i := range parts[1:] {
		if parts[i+1] != "" {
			parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
		}
	}
	return strings.Join(parts, "")
}
