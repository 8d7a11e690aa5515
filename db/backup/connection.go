package backup

import (
	"context"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// open connects to the database without time limits on statements.
func open(ctx context.Context, address string) (*pgx.Conn, error) {
	c, err := db.ParseURL(address)
	if err != nil {
		return nil, err
	}
	c.ConnConfig.RuntimeParams["application_name"] = "mishap backup"
	c.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	c.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err == nil {
		return conn, nil
	}
	if refused := db.Refusal(err); refused != nil {
		return nil, refused.Because(err)
	}
	return nil, db.Classify(err)
}

// variables maps the parameters of an address to the environment variables of PostgreSQL's programs.
// The programs do not know the other parameters that pgx accepts.
var variables = map[string]string{
	"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "dbname": "PGDATABASE", "database": "PGDATABASE",
	"user": "PGUSER", "password": "PGPASSWORD", "passfile": "PGPASSFILE",
	"service": "PGSERVICE", "servicefile": "PGSERVICEFILE",
	"sslmode": "PGSSLMODE", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "sslrootcert": "PGSSLROOTCERT",
	"sslcrl": "PGSSLCRL", "connect_timeout": "PGCONNECT_TIMEOUT", "target_session_attrs": "PGTARGETSESSIONATTRS",
	"channel_binding": "PGCHANNELBINDING", "gssencmode": "PGGSSENCMODE", "krbsrvname": "PGKRBSRVNAME",
	"options": "PGOPTIONS",
}

// environment returns the environment variables with which PostgreSQL's programs connect to the
// database at address. Other users of the machine can read arguments, but not the environment.
func environment(address string) ([]string, error) {
	values, err := parameters(address)
	if err != nil {
		return nil, err
	}
	if values["target_session_attrs"] == "" {
		values["target_session_attrs"] = "read-write" // as in package connect
	}
	var environ []string
	for name, value := range values {
		if variable := variables[name]; variable != "" && value != "" {
			environ = append(environ, variable+"="+value)
		}
	}
	return environ, nil
}

var pair = regexp.MustCompile(`(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)`)

var escaped = regexp.MustCompile(`\\(.)`)

// parameters returns the parameters of an address, which is a URL or a list of "key=value".
func parameters(address string) (map[string]string, error) {
	values := map[string]string{}
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		for _, m := range pair.FindAllStringSubmatch(address, -1) {
			values[m[1]] = escaped.ReplaceAllString(strings.TrimSuffix(strings.TrimPrefix(m[2], "'"), "'"), "$1")
		}
		return values, nil
	}
	u, err := url.Parse(address)
	if err != nil { // the error may contain the password
		return nil, crash.Errorf(crash.Invalid, "bad_database_url", "The database address cannot be read.")
	}
	values["user"], values["database"] = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	values["password"], _ = u.User.Password()
	var hosts, ports []string
	for host := range strings.SplitSeq(u.Host, ",") {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), ""
		}
		hosts, ports = append(hosts, name), append(ports, port)
	}
	values["host"], values["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	if strings.Trim(values["port"], ",") == "" {
		values["port"] = ""
	}
	for name, v := range u.Query() {
		values[name] = v[0]
	}
	return values, nil
}
