//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// recipe is what a recipe has: the command line, and how long the command may take to end.
type recipe struct {
	words []string
	ends  time.Duration
}

// TestRecipes runs the command lines of the recipes as they are written, and compares their times.
func TestRecipes(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(t *testing.T) recipe{"Kubernetes": readCronJob, "Systemd": readUnits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, work, dir, r := startServer(t), newShared(t), t.TempDir(), read(t)
			require.Equal(t, "hasp", filepath.Base(r.words[0]))
			grace, err := time.ParseDuration(r.words[slices.Index(r.words, "--grace")+1])
			require.NoError(t, err)
			require.Greater(t, r.ends, grace)
			self, err := os.Executable()
			require.NoError(t, err)
			require.NoError(t, os.Symlink(self, filepath.Join(dir, r.words[len(r.words)-1])))
			for range 2 { // hosts
				c := exec.CommandContext(t.Context(), binary, r.words[1:]...)
				c.Dir, c.Env = dir, append(append(os.Environ(), work.env("brief")...), onServer(server.Addr()))
				said, err := c.CombinedOutput()
				require.NoError(t, err, "%s", said)
				require.Empty(t, said)
			}
			require.NotEmpty(t, work.owners(t))
			require.EqualValues(t, 1, exist(t, server, "{report}:completed"))
		})
	}
}

// readCronJob reads the manifest for Kubernetes, which has no other fields, and no password.
func readCronJob(t *testing.T) recipe {
	t.Helper()
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			Schedule    string
			JobTemplate struct {
				Spec struct {
					BackoffLimit int `yaml:"backoffLimit"`
					Template     struct {
						Spec struct {
							RestartPolicy string `yaml:"restartPolicy"`
							Grace         int    `yaml:"terminationGracePeriodSeconds"`
							Containers    []struct {
								Name, Image string
								Command     []string
								Env         []struct {
									Name      string
									ValueFrom struct {
										SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
									} `yaml:"valueFrom"`
								}
							}
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	text, err := os.ReadFile("../../docs/command/cronjob.yaml")
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&job))
	require.Equal(t, "batch/v1 CronJob", job.APIVersion+" "+job.Kind)
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	require.Equal(t, "Never", pod.RestartPolicy)
	require.Len(t, pod.Containers, 1)
	require.Len(t, pod.Containers[0].Env, 1)
	require.Equal(t, "HASP_URL", pod.Containers[0].Env[0].Name)
	require.NotEmpty(t, pod.Containers[0].Env[0].ValueFrom.SecretKeyRef.Key)
	return recipe{pod.Containers[0].Command, time.Duration(pod.Grace) * time.Second}
}

// readUnits reads the units for systemd.
func readUnits(t *testing.T) recipe {
	t.Helper()
	service, timer := readUnit(t, "report.service"), readUnit(t, "report.timer")
	require.Equal(t, "mixed", service["Service.KillMode"])
	require.True(t, filepath.IsAbs(service["Service.WorkingDirectory"]))
	require.NotEmpty(t, timer["Timer.OnCalendar"])
	words := strings.Fields(service["Service.ExecStart"])
	require.True(t, filepath.IsAbs(words[0]), "systemd demands it")
	stop, err := strconv.Atoi(service["Service.TimeoutStopSec"])
	require.NoError(t, err)
	return recipe{words, time.Duration(stop) * time.Second}
}

// readUnit returns the settings of a unit by section and name.
func readUnit(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/command/" + name)
	require.NoError(t, err)
	settings, section := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, set := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]") + "."
		default:
			require.True(t, set, line)
			settings[section+key] = value
		}
	}
	return settings
}
