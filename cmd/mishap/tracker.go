package main

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/tracker"
)

// trackerConfig returns the tracker's part of the configuration. Without a registerer there are no
// metrics.
func trackerConfig(c config.Config, log *slog.Logger, metrics prometheus.Registerer) tracker.Config {
	return tracker.Config{
		URL:         c.TrackerURL,
		APIURL:      c.TrackerAPIURL,
		ConsumerKey: c.TrackerConsumerKey,
		Target:      c.TrackerTarget,
		BaseURL:     c.BaseURL,
		Version:     versionText(),
		Privacy:     c.Privacy(),
		Token:       crash.AccessToken{Token: string(c.TrackerOAuthToken), Secret: c.TrackerOAuthSecret},
		Timeout:     time.Duration(c.TrackerTimeout) * time.Second,
		Settle:      max(time.Duration(c.TrackerSettle)*time.Second, 1), // 0 would stand for the default
		Log:         log,
		Now:         time.Now,
		Registerer:  metrics,
	}
}
