package config_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/config"
)

func TestRetentionPolicyKeep(t *testing.T) {
	t.Parallel()
	days := func(n int) *int { return &n }
	for _, tt := range []struct {
		name string
		days *int
		want time.Duration
	}{
		{"unset", nil, 0},
		{"for ever", days(-1), 0},
		{"not at all", days(0), 1},
		{"a week", days(7), 7 * 24 * time.Hour},
	} {
		if got := (config.RetentionPolicy{Days: tt.days}).Keep(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
