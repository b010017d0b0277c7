package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// Check returns an error of code ResourceExhausted if a user may not store that many more bytes.
// With 0, it checks whether the user may store anything.
func (q *Quota) Check(u User, more int64) error {
	total, over := q.compare(u, more)
	switch {
	case !over:
		return nil
	case more > 0:
		return status.New(status.ResourceExhausted, "user %s stores %s, and with %s more it would be above %s", u.Name, FormatSize(total), FormatSize(more), q.explain(u))
	}
	return status.New(status.ResourceExhausted, "user %s stores %s, which reaches %s", u.Name, FormatSize(total), q.explain(u))
}

// Exceeded reports whether a user may not store anything more.
func (q *Quota) Exceeded(u User) bool {
	_, over := q.compare(u, 0)
	return over
}

func (q *Quota) compare(u User, more int64) (total int64, over bool) {
	if q == nil || q.limit == 0 || u.ID == 0 {
		return 0, false
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, n := range q.of[u.ID] {
		total += n
	}
	return total, total >= q.limit || more > q.limit-total
}

// explain describes the limit, the largest kinds, and the remedy.
func (q *Quota) explain(u User) string {
	of := q.Stored(u.ID)
	kinds := slices.SortedFunc(maps.Keys(of), func(a, b Kind) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(string(a), string(b)))
	})
	parts := make([]string, len(kinds))
	for i, k := range kinds {
		parts[i] = k.noun() + " " + FormatSize(of[k])
	}
	return fmt.Sprintf("the limit security.limits.stored_bytes_per_user of %s (%s); delete experiments that are no longer needed (`det experiment delete ID`), "+
		"or ask an administrator to raise the limit or to keep logs for fewer days (retention_policy.log_retention_days)", FormatSize(q.limit), strings.Join(parts, ", "))
}

func (k Kind) noun() string {
	switch k {
	case Contexts:
		return "files of tasks and experiments"
	case Definitions:
		return "model definitions"
	case Logs, Metrics:
	}
	return string(k)
}

// FormatSize formats a number of bytes with a unit that is a power of 1024.
func FormatSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && size >= 1<<10 {
		size, units = size/(1<<10), units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
