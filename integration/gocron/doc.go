// Package gocronhasp has lockers and an elector for github.com/go-co-op/gocron: of several replicas that schedule the
// same jobs, one runs each job.
//
//	locker, err := gocronhasp.NewPeriodicLocker(client, gocronhasp.Daily(7, 30, time.Local), nil)
//	if err != nil {
//		return err
//	}
//	scheduler, err := gocron.NewScheduler()
//	if err != nil {
//		return err
//	}
//	task, name := locker.Job("report", report) // report(ctx context.Context, run gocronhasp.Run) error
//	_, err = scheduler.NewJob(gocron.CronJob("30 7 * * *", false), gocron.NewTask(task), name)
//
// There are two kinds of [Locker], and the [Elector]:
//
//   - [NewLocker]: no two replicas run a job at the same time. If a run ends before another replica's clock is at
//     the time of the job, that replica runs the job, too.
//   - [NewPeriodicLocker]: one replica runs the job at each time of its [Schedule]. If it fails or crashes, another one runs
//     it, for the same period: the work gets that in its [Run].
//   - [NewElector]: one replica runs all jobs, until it stops, crashes or loses the leadership.
//
// The lock has the name of the job. It is renewed for as long as the job runs, however long that is. If the process
// crashes, the lock is free when its lease ends, 30 s later by default.
//
// # Losing the lock
//
// gocron does not notice that a lock is lost, and ignores the error of the release. [Locker.Job] does neither: the
// context of the work ends before another replica can hold the lock, with the four exceptions that package primitives
// names, and the job fails with the error of the release. A job without Job works on after a loss, possibly at the same
// time as another replica. [Elector.Task] does the same for the loss of the leadership.
package gocronhasp
