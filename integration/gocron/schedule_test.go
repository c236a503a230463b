package gocronhasp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

// zones have changes of an hour, of half an hour, and none, at several times of the night.
var zones = []string{
	"Europe/London", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Australia/Sydney", "Asia/Kolkata",
	"Australia/Lord_Howe", "UTC",
}

// clocks are the times of day of the jobs: hour and minute.
var clocks = [][2]int{{0, 30}, {2, 30}, {12, 0}, {23, 30}}

func location(t *testing.T, zone string) *time.Location {
	t.Helper()
	return must(time.LoadLocation(zone))(t)
}

// timesOf returns the next n times at which gocron runs a job.
func timesOf(
	t *testing.T, n int, loc *time.Location, job gocron.JobDefinition, options ...gocron.JobOption,
) (times []time.Time) {
	t.Helper()
	scheduler := must(gocron.NewScheduler(gocron.WithLocation(loc)))(t)
	defer func() { require.NoError(t, scheduler.Shutdown()) }()
	j, err := scheduler.NewJob(job, gocron.NewTask(func() {}), options...)
	require.NoError(t, err)
	scheduler.Start()
	times = must(j.NextRuns(n))(t)
	return times
}

// kinds are gocron's kinds of daily jobs, which differ in a time that the clock leaves out or shows twice.
func kinds(hour, minute int) map[string]struct {
	job     gocron.JobDefinition
	options []gocron.JobOption
} {
	at := gocron.NewAtTimes(gocron.NewAtTime(uint(hour), uint(minute), 0))
	after := []gocron.JobOption{gocron.WithDaylightSavingsTimePolicy(gocron.DaylightSavingsTimeRunAfterTransition)}
	expression := gocron.CronJob(fmt.Sprintf("%d %d * * *", minute, hour), false)
	return map[string]struct {
		job     gocron.JobDefinition
		options []gocron.JobOption
	}{
		"DailyJob": {gocron.DailyJob(1, at), nil}, "DailyJobAfter": {gocron.DailyJob(1, at), after},
		"CronJob": {expression, nil}, "CronJobAfter": {expression, after},
	}
}

// turn is a time at which gocron runs a job of three replicas.
type turn struct {
	at       time.Time
	job      string
	replicas [3]*turnReplica
}

type turnReplica struct {
	locker *gocronhasp.Locker
	task   func(ctx context.Context) error
	period time.Time // of the last run
}

// run runs the job as gocron does.
func (r *turnReplica) run(ctx context.Context, job string) error {
	held, err := r.locker.Lock(ctx, job)
	if err != nil {
		return err
	}
	return errors.Join(r.task(ctx), held.Unlock(ctx))
}

// changes reports whether the clock changes within three days of t.
func changes(t time.Time) bool {
	_, before := t.AddDate(0, 0, -3).Zone()
	_, after := t.AddDate(0, 0, 3).Zone()
	return before != after
}

// turns returns the times of daily jobs in a year, in order: of one kind all of them, of the others those near a change.
func turns(t *testing.T, client *primitives.Client, loc *time.Location) (all []turn) {
	t.Helper()
	for _, clock := range clocks {
		for kind, k := range kinds(clock[0], clock[1]) {
			now := turn{job: fmt.Sprint(kind, clock)}
			for i := range now.replicas {
				r := &turnReplica{locker: periodicLocker(t, client, gocronhasp.Daily(clock[0], clock[1], loc))}
				r.task, _ = r.locker.Job(now.job, func(_ context.Context, run gocronhasp.Run) error {
					r.period = run.Period
					return nil
				})
				now.replicas[i] = r
			}
			for _, now.at = range timesOf(t, 366, loc, k.job, k.options...) {
				if changes(now.at.In(loc)) || kind == "DailyJob" && !testing.Short() {
					all = append(all, now)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return a.at.Compare(b.at) })
	return all
}

// TestAYear has replicas run daily jobs over a year with both changes of the clock: whenever gocron runs a job, one of them
// runs it, for the day that the clock shows. With a DailyJob, that is each day. Near the changes, and twice a month, three
// replicas whose clocks differ by seconds try.
func TestAYear(t *testing.T) {
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				loc, days := location(t, zone), map[string]map[string]bool{}
				for _, now := range turns(t, hasptest.New(t).Client(nil), loc) {
					time.Sleep(time.Until(now.at) - time.Second)
					require.NoError(t, now.replicas[0].run(t.Context(), now.job), now)
					day := now.replicas[0].period.Format(time.DateOnly)
					require.Equal(t, now.at.In(loc).Format(time.DateOnly), day, now)
					if days[now.job] == nil {
						days[now.job] = map[string]bool{}
					}
					days[now.job][day] = true
					for _, other := range now.replicas[1:] {
						if !changes(now.at.In(loc)) && now.at.Day() > 2 {
							break // Each lock is a script: with all of them the test takes three times as long.
						}
						time.Sleep(time.Second)
						require.ErrorIs(t, other.run(t.Context(), now.job), gocronhasp.ErrCompleted, now)
					}
				}
				for _, clock := range clocks {
					require.True(t, testing.Short() || len(days[fmt.Sprint("DailyJob", clock)]) == 366)
				}
			})
		})
	}
}

// TestCronLooksBack compares the last time of an expression with gocron's times over a year; with frequent ones near a
// change of the clock.
func TestCronLooksBack(t *testing.T) {
	for _, zone := range append(zones, "America/Santiago", "Pacific/Chatham") {
		t.Run(zone, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				loc := location(t, zone)
				for expression, aYear := range map[string]int{
					"30 0 * * *": 366, "30 2 * * *": 366, "0 * * * *": 366 * 24, "*/20 1-3 * * *": 366 * 9, "15 2 1,15 * 1": 72,
					"0 9 * * 1-5": 261, "45 23 31 * *": 7,
				} {
					schedule := gocronhasp.Cron(expression, loc)
					times := timesOf(t, aYear, loc, gocron.CronJob(expression, false))
					for i, at := range times[1:] {
						if aYear > 100 && !changes(at.In(loc)) {
							continue
						}
						require.Equal(t, at.Unix(), schedule.Last(at).Unix(), "%s: %s", expression, at)
						require.Equal(t, at.Unix(), schedule.Last(at.Add(time.Minute-1)).Unix(), "%s: %s", expression, at)
						// gocron leaves out a time of the expression only because it comes over a change of half an hour.
						if between := schedule.Last(at.Add(-1)); between.Unix() != times[i].Unix() {
							require.Equal(t, "Australia/Lord_Howe", zone, "%s: %s", expression, between)
							require.Equal(t, between, must(cron.ParseStandard(expression))(t).Next(between.Add(-time.Second)), expression)
						}
					}
				}
			})
		})
	}
}

func TestCronWithoutATime(t *testing.T) {
	t.Parallel()
	require.Zero(t, gocronhasp.Cron("0 0 30 2 *", time.UTC).Last(time.Now()))
	last := gocronhasp.Cron("CRON_TZ=Asia/Kolkata 0 30 2 29 2 *", nil).Last(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, time.Date(2024, 2, 29, 2, 30, 0, 0, location(t, "Asia/Kolkata")), last)
}

func TestDaily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, now, want string }{
		{"Europe/Berlin", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+02:00"}, // shown twice
		{"Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+02:00"},
		{"America/New_York", "2026-11-01T12:00:00-05:00", "2026-11-01T02:30:00-05:00"},
		{"America/New_York", "2026-03-08T03:29:00-04:00", "2026-03-07T02:30:00-05:00"}, // left out
		{"America/New_York", "2026-03-08T03:30:00-04:00", "2026-03-08T03:30:00-04:00"},
		{"Australia/Lord_Howe", "2026-10-04T02:30:00+11:00", "2026-10-04T02:30:00+11:00"},
	} {
		now := must(time.Parse(time.RFC3339, c.now))(t)
		require.Equal(t, c.want, gocronhasp.Daily(2, 30, location(t, c.zone)).Last(now).Format(time.RFC3339))
	}
	// The clock leaves out the first hour of a day.
	now := time.Date(2026, 9, 6, 1, 15, 0, 0, location(t, "America/Santiago"))
	require.Equal(t, 5, gocronhasp.Daily(0, 30, now.Location()).Last(now).Day())
}

// TestNearestTime has times that are closer to each other than twice the tolerance.
func TestNearestTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
		client := hasptest.New(t).Client(nil)
		r := &turnReplica{locker: periodicLocker(t, client, gocronhasp.Cron("*/20 0,1 12 * * *", time.UTC))}
		r.task, _ = r.locker.Job(job, func(_ context.Context, run gocronhasp.Run) error { r.period = run.Period; return nil })
		for _, c := range []struct{ at, due time.Duration }{
			{-61 * time.Second, -1}, {-59 * time.Second, 0}, {29 * time.Second, 20 * time.Second},
			{30 * time.Second, 40 * time.Second}, {51 * time.Second, time.Minute}, {159 * time.Second, 100 * time.Second},
			{161 * time.Second, -1},
		} {
			time.Sleep(time.Until(noon.Add(c.at)))
			if err := r.run(t.Context(), job); c.due < 0 {
				require.ErrorIs(t, err, gocronhasp.ErrNotDue)
			} else {
				require.NoError(t, err)
				require.Equal(t, noon.Add(c.due), r.period)
			}
		}
	})
}

// TestTolerance: by default it is a minute, or half of what Every has.
func TestTolerance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		noon, client := time.Now().UTC().Truncate(24*time.Hour).Add(12*time.Hour), hasptest.New(t).Client(nil)
		for _, c := range []struct {
			schedule       gocronhasp.Schedule
			set, tolerance time.Duration
		}{
			{gocronhasp.Daily(12, 0, time.UTC), 0, time.Minute}, {gocronhasp.Daily(12, 0, time.UTC), time.Second, time.Second},
			{gocronhasp.Every(time.Hour), 0, 30 * time.Minute}, {gocronhasp.Every(time.Hour), time.Second, time.Second},
		} {
			noon = noon.AddDate(0, 0, 1)
			locker, err := gocronhasp.NewPeriodicLocker(client, c.schedule, &gocronhasp.PeriodicOptions{Tolerance: c.set})
			require.NoError(t, err)
			time.Sleep(time.Until(noon.Add(-c.tolerance - 1)))
			err = hold(t.Context(), locker)
			require.Equal(t, c.tolerance < 30*time.Minute, errors.Is(err, gocronhasp.ErrNotDue), "%v", err) // Half an hour is always near.
			time.Sleep(time.Nanosecond)
			require.NotErrorIs(t, hold(t.Context(), locker), gocronhasp.ErrNotDue)
		}
	})
}

func TestPeriodicLockerChecksItsSchedule(t *testing.T) {
	t.Parallel()
	var noSchedule gocronhasp.Schedule
	for _, c := range []struct {
		schedule gocronhasp.Schedule
		opts     *gocronhasp.PeriodicOptions
		field    string
	}{
		{noSchedule, nil, "schedule"},
		{gocronhasp.Every(-time.Hour), nil, "Every"},
		{gocronhasp.Every(0), nil, "Every"},
		{gocronhasp.Every(1500 * time.Microsecond), nil, "Every"},
		{gocronhasp.Every(24 * time.Hour), nil, "Every"},
		{gocronhasp.Daily(24, 0, time.UTC), nil, "Daily"},
		{gocronhasp.Daily(0, 60, time.UTC), nil, "Daily"},
		{gocronhasp.Daily(-1, 0, time.UTC), nil, "Daily"},
		{gocronhasp.Daily(0, 0, nil), nil, "Daily"},
		{gocronhasp.Cron("* * * *", time.UTC), nil, "Cron"},
		{gocronhasp.Cron("@every 1h", time.UTC), nil, "Cron"},
		{gocronhasp.Cron("@daily", nil), nil, "Cron"},
		{gocronhasp.Cron("@daily", time.UTC), &gocronhasp.PeriodicOptions{Tolerance: -1}, "Tolerance"},
	} {
		_, err := gocronhasp.NewPeriodicLocker(nil, c.schedule, c.opts)
		var invalid *primitives.FieldError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, c.field, invalid.Field, err)
		require.NotEmpty(t, invalid.Problem)
	}
}
