package gcptest

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
)

// fingerprint returns a new fingerprint that no object has had.
func (w *World) fingerprint() string {
	w.serial++
	return base64.URLEncoding.EncodeToString([]byte(strconv.FormatUint(100000000+w.serial, 10)))
}

// staleFingerprint returns the error for a change based on an outdated fingerprint.
// https://cloud.google.com/compute/docs/labeling-resources#fingerprint
func staleFingerprint() *refusal {
	return refuse(412, "conditionNotMet", "Supplied fingerprint does not match current metadata fingerprint.")
}

// setLabels replaces all labels under the fingerprint that was read.
func (k collection[T]) setLabels(c *call) (any, error) {
	name := c.params["resource"]
	if name == "" {
		name = c.params[parameterOf(k.name)]
	}
	path, err := k.path(c, name)
	if err != nil {
		return nil, err
	}
	v, found := k.table(&c.engine).get(path)
	if !found {
		return nil, notFound(path)
	}
	var body struct {
		Labels           map[string]string
		LabelFingerprint string
	}
	_ = json.Unmarshal(c.body, &body) // validated against its schema before
	if body.LabelFingerprint != read[string](v, "LabelFingerprint") {
		return nil, staleFingerprint()
	}
	if err := checkLabels(body.Labels); err != nil {
		return nil, err
	}
	return c.operate("setLabels", path, effect{apply: func() *failure {
		set(v, "Labels", body.Labels)
		set(v, "LabelFingerprint", c.fingerprint())
		return nil
	}})
}

var (
	labelKey   = regexp.MustCompile(`^[a-z][-_a-z0-9]{0,62}$`)
	labelValue = regexp.MustCompile(`^[-_a-z0-9]{0,63}$`)
)

// checkLabels returns an error for invalid labels.
// https://cloud.google.com/compute/docs/labeling-resources#requirements
func checkLabels(labels map[string]string) error {
	if len(labels) > 64 {
		return invalid("Invalid value for field 'resource.labels': '%d'. Too many labels.", len(labels))
	}
	for k, v := range labels {
		if !labelKey.MatchString(k) || !labelValue.MatchString(v) {
			return invalid("Invalid value for field 'resource.labels': '%s=%s'. Label keys and values take lower-case letters, digits, dashes and underscores.", k, v)
		}
	}
	return nil
}
