package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/rm"
)

// placed returns an allocation of two slots that started at eleven, an hour before the current time of the
// book.
func placed() []accounting.Entry {
	return []accounting.Entry{{
		Allocation: "t1.1", Task: "t1", Job: "t1", Kind: "TRIAL", UserID: 2, Username: "determined", Pool: "gpu", Slots: 2,
		Price: &rm.Price{PerHour: 2.5, Currency: "EUR"}, Start: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), Ran: time.Date(2026, 3, 1, 11, 0, 30, 0, time.UTC),
	}}
}

func TestResourceUsageAsMessagesAndCSV(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const day = "?timestamp_after=2026-03-01T11:30:00Z&timestamp_before=2026-03-01T23:00:00Z"
	const march = "?start_date=2026-03-01&end_date=2026-03-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	for _, tt := range []struct {
		path, want string
		code       int
	}{
		{"/api/v1/resources/allocation/raw" + day, `"kind":"training","startTime":"2026-03-01T11:30:00Z","endTime":null,"experimentId":7,` +
			`"username":"determined","userId":2,"labels":["vision"],"seconds":1800,"slots":2`, 200},
		{"/resources/allocation/raw" + day, "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n" +
			"7,training,determined,vision,2,2026-03-01T11:30:00Z,,1800.000000\n", 200},
		{"/resources/allocation/allocations-csv" + day, "t1.1,TRIAL,determined,lab,7,2,2026-03-01T11:00:00Z,,30.000000\n", 200},
		{"/api/v1/resources/allocation/aggregated" + march, `"periodStart":"2026-03-01","period":"RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY","seconds":7200,` +
			`"byUsername":{"determined":7200},"byExperimentLabel":{"vision":7200},"byResourcePool":{"gpu":7200}`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=RESOURCE_USAGE_GROUP_EXPERIMENT", `{"usage":[{"name":"digits","id":7,"slotHours":1,"unpricedSlotHours":0,"costs":[{"currency":"EUR","amount":2.5}]}]}`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=RESOURCE_USAGE_GROUP_PROJECT", `"name":"lab / vision","id":3,"slotHours":1`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=RESOURCE_USAGE_GROUP_WORKSPACE", `"name":"lab","id":0,"slotHours":1`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=RESOURCE_USAGE_GROUP_USER", `"name":"determined","id":0,"slotHours":1`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=RESOURCE_USAGE_GROUP_POOL", `"name":"gpu","id":0,"slotHours":1`, 200},
		{"/api/v1/resources/usage?timestamp_after=2026-02-01T00:00:00Z&timestamp_before=2026-02-02T00:00:00Z&group_by=RESOURCE_USAGE_GROUP_POOL", `{"usage":[]}`, 200},
		{"/api/v1/resources/usage" + day + "&group_by=LABEL", "groupBy: must be one of RESOURCE_USAGE_GROUP_EXPERIMENT", 400},
		{"/api/v1/resources/usage?group_by=RESOURCE_USAGE_GROUP_POOL", "timestampAfter: must be a time such as", 400},
		{"/resources/allocation/aggregated" + march, "aggregation_type,aggregation_key,date,seconds\nexperiment_label,vision,2026-03-01,7200.000000\n" +
			"username,determined,2026-03-01,7200.000000\nresource_pool,gpu,2026-03-01,7200.000000\ntotal,total,2026-03-01,7200.000000\n" +
			"total,total,2026-03-02,0.000000\n", 200},
		{"/resources/allocation/aggregated?start_date=2026-03&end_date=2026-03&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY", "total,total,2026-03,7200.000000\n", 200},
		{"/resources/allocation/aggregated?start_date=2026-03-01&end_date=2026-03-01&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY", "startDate: must be a date such as 2026-01", 400},
		{"/resources/allocation/aggregated?start_date=2000-01-01&end_date=2026-03-01&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY", "at most 3660 days", 400},
		{"/resources/allocation/aggregated?start_date=2026-03-01&end_date=2026-03-01&period=weekly", "period: must be", 400},
		{"/resources/allocation/raw", "timestampAfter: must be a time such as", 400},
		{"/resources/allocation/raw?timestamp_after=2026-03-02T00:00:00Z&timestamp_before=2026-03-01T00:00:00Z", "ends before it begins", 400},
	} {
		rec := w.ask(t, http.MethodGet, tt.path, w.user, "")
		got := rec.Body.String()
		if strings.HasPrefix(tt.path, prefix) {
			got = squeeze(got)
		}
		if rec.Code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %s, want %d with %s", tt.path, rec.Code, got, tt.code, tt.want)
		}
	}
}
