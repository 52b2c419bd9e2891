// Checks a server through go-sql-driver: check HOST PORT USER PASSWORD TLS. Ends with 1 and says why if the server
// answers otherwise than MySQL would.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "go: "+format+"\n", args...)
	os.Exit(1)
}

func must(err error, what string) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

func equal(got, wanted any, what string) {
	if !reflect.DeepEqual(got, wanted) {
		fail("%s: got %#v, wanted %#v", what, got, wanted)
	}
}

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func open(user, password, database string, interpolate bool) *sql.DB {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", os.Args[1]+":"+os.Args[2]
	config.User, config.Passwd, config.DBName = user, password, database
	config.ParseTime, config.InterpolateParams, config.MultiStatements = true, interpolate, true
	config.MaxAllowedPacket = 64 << 20
	if os.Args[5] == "tls" {
		config.TLSConfig = "skip-verify"
	}
	connector, err := mysql.NewConnector(config)
	must(err, "configuration")
	return sql.OpenDB(connector)
}

func types(db *sql.DB, name string) {
	_, err := db.Exec("drop table if exists " + name)
	must(err, "drop")
	_, err = db.Exec("create table " + name + ` (id int primary key auto_increment, i8 tinyint, u64 bigint unsigned,
		d double, f float, n decimal(20,5), da date, dt datetime(6), ti time(3), v varchar(100), b blob, e enum('red','green'))
		default character set utf8mb4`)
	must(err, "create")
	moment := time.Date(1999, 12, 31, 23, 59, 59, 123456000, time.UTC)
	blob := []byte(strings.Repeat("\x00\xff'", 1000))
	done, err := db.Exec("insert into "+name+" (i8,u64,d,f,n,da,dt,ti,v,b,e) values (?,?,?,?,?,?,?,?,?,?,?)",
		-128, uint64(1<<64-1), -2.25e100, float32(1.5), "-123456789012345.67891", "2024-02-29", moment, "-100:01:02.345",
		"naïve 🐳 'q' \\", blob, "green")
	must(err, "insert")
	id, _ := done.LastInsertId()
	equal(id, int64(1), "insert id")
	_, err = db.Exec("insert into " + name + " (i8) values (null)")
	must(err, "insert of NULL")
	var i8 int8
	var u64 uint64
	var d float64
	var f float32
	var n, ti, v, e string
	var da, dt time.Time
	var b []byte
	row := db.QueryRow("select i8,u64,d,f,n,da,dt,ti,v,b,e from "+name+" where id = ?", 1)
	must(row.Scan(&i8, &u64, &d, &f, &n, &da, &dt, &ti, &v, &b, &e), "select")
	equal([]any{i8, u64, d, f, n, ti, v, e}, []any{int8(-128), uint64(1<<64 - 1), -2.25e100, float32(1.5),
		"-123456789012345.67891", "-100:01:02.345", "naïve 🐳 'q' \\", "green"}, "values")
	equal(da.Format("2006-01-02"), "2024-02-29", "date")
	equal(dt, moment, "datetime")
	equal(b, blob, "blob")
	var null [11]sql.NullString
	to := make([]any, len(null))
	for i := range null {
		to[i] = &null[i]
	}
	must(db.QueryRow("select i8,u64,d,f,n,da,dt,ti,v,b,e from "+name+" where id = ?", 2).Scan(to...), "NULLs")
	equal(null, [11]sql.NullString{}, "NULLs")
}

func main() {
	user, password := os.Args[3], os.Args[4]
	for _, interpolate := range []bool{false, true} {
		db := open(user, password, "clients", interpolate)
		must(db.Ping(), "ping")
		types(db, fmt.Sprintf("types_go_%v", interpolate))
		big := strings.Repeat("x", 17<<20)
		var length int
		var back string
		must(db.QueryRow("select length(?), ?", big, big).Scan(&length, &back), "17 MB")
		equal(length == len(big) && back == big, true, "17 MB")
		_, err := db.Exec("select * from missing")
		equal(number(err), uint16(1146), "no table")
		_, err = db.Exec("selec 1")
		equal(number(err), uint16(1064), "syntax")
		_, err = db.Exec("insert into types_go_false (id) values (1)")
		equal(number(err), uint16(1062), "duplicate")
		var cipher, name string
		must(db.QueryRow("show status like 'Ssl_cipher'").Scan(&name, &cipher), "cipher")
		equal(cipher != "", os.Args[5] == "tls", "TLS")
		// Several statements, several results.
		rows, err := db.Query("select 1; select 2")
		must(err, "two statements")
		sum := 0
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
				var n int
				must(rows.Scan(&n), "a number")
				sum += n
			}
		}
		must(rows.Close(), "close")
		equal(sum, 3, "two results")
		// A query whose context ends: the driver closes the connection.
		context, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		_, err = db.ExecContext(context, "select sleep(20)")
		cancel()
		equal(err != nil, true, "a query that is given up")
		trx, err := db.Begin()
		must(err, "begin")
		_, err = trx.Exec("update types_go_false set i8 = 5 where id = 1")
		must(err, "update")
		must(trx.Rollback(), "rollback")
		var i8 int
		must(db.QueryRow("select i8 from types_go_false where id = 1").Scan(&i8), "after the rollback")
		equal(i8, -128, "after the rollback")
		db.Close()
	}
	if os.Args[5] == "remembered" {
		return // A password that the server does not remember goes over TLS only.
	}
	db := open(user, "wrong", "clients", false)
	equal(number(db.Ping()), uint16(1045), "wrong password")
}
