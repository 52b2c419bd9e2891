import java.math.BigDecimal;
import java.sql.*;
import java.util.Arrays;
import java.util.Properties;

/** Checks a server through Connector/J: Check HOST PORT USER PASSWORD TLS. Fails if the server answers otherwise than MySQL would. */
public final class Check {
    static String[] args;

    static Connection open(String password, boolean serverSide) throws SQLException {
        Properties p = new Properties();
        p.put("user", args[2]);
        p.put("password", password);
        p.put("sslMode", args[4].equals("tls") ? "REQUIRED" : "DISABLED");
        p.put("useServerPrepStmts", Boolean.toString(serverSide));
        p.put("allowMultiQueries", "true");
        p.put("connectionTimeZone", "UTC");
        return DriverManager.getConnection("jdbc:mysql://" + args[0] + ":" + args[1] + "/clients", p);
    }

    static void equal(Object got, Object wanted, String what) {
        if (got == null ? wanted != null : !got.equals(wanted)) {
            System.err.println("java: " + what + ": got " + got + ", wanted " + wanted);
            System.exit(1);
        }
    }

    interface Call { void run() throws SQLException; }

    static int number(Call call) {
        try {
            call.run();
        } catch (SQLException e) {
            return e.getErrorCode();
        }
        return 0;
    }

    static void types(Connection c, String name) throws SQLException {
        byte[] blob = new byte[3000];
        Arrays.fill(blob, (byte) 0xff);
        try (Statement s = c.createStatement()) {
            s.execute("drop table if exists " + name);
            s.execute("create table " + name + " (id int primary key auto_increment, i8 tinyint, u64 bigint unsigned, d double, f float,"
                + " n decimal(20,5), da date, dt datetime(6), ti time, v varchar(100), b blob, e enum('red','green')) default character set utf8mb4");
        }
        String columns = "i8,u64,d,f,n,da,dt,ti,v,b,e";
        try (PreparedStatement s = c.prepareStatement("insert into " + name + " (" + columns + ") values (?,?,?,?,?,?,?,?,?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
            s.setInt(1, -128);
            s.setBigDecimal(2, new BigDecimal("18446744073709551615"));
            s.setDouble(3, -2.25e100);
            s.setFloat(4, 1.5f);
            s.setBigDecimal(5, new BigDecimal("-123456789012345.67891"));
            s.setDate(6, Date.valueOf("2024-02-29"));
            s.setTimestamp(7, Timestamp.valueOf("1999-12-31 23:59:59.123456"));
            s.setTime(8, Time.valueOf("13:14:15"));
            s.setString(9, "naïve \ud83d\udc33 'q' \\");
            s.setBytes(10, blob);
            s.setString(11, "green");
            equal(s.executeUpdate(), 1, "affected rows");
            try (ResultSet keys = s.getGeneratedKeys()) {
                keys.next();
                equal(keys.getInt(1), 1, "insert id");
            }
            for (int i = 1; i <= 11; i++) {
                s.setNull(i, Types.VARCHAR);
            }
            s.executeUpdate();
        }
        try (PreparedStatement s = c.prepareStatement("select " + columns + " from " + name + " where id >= ? order by id")) {
            s.setInt(1, 1);
            ResultSet r = s.executeQuery();
            r.next();
            equal(r.getInt(1), -128, "i8");
            equal(r.getBigDecimal(2), new BigDecimal("18446744073709551615"), "u64");
            equal(r.getDouble(3), -2.25e100, "d");
            equal(r.getFloat(4), 1.5f, "f");
            equal(r.getBigDecimal(5), new BigDecimal("-123456789012345.67891"), "n");
            equal(r.getDate(6), Date.valueOf("2024-02-29"), "da");
            equal(r.getTimestamp(7), Timestamp.valueOf("1999-12-31 23:59:59.123456"), "dt");
            equal(r.getTime(8), Time.valueOf("13:14:15"), "ti");
            equal(r.getString(9), "naïve \ud83d\udc33 'q' \\", "v");
            equal(Arrays.equals(r.getBytes(10), blob), true, "b");
            equal(r.getString(11), "green", "e");
            r.next();
            for (int i = 1; i <= 11; i++) {
                equal(r.getObject(i), null, "NULL " + i);
            }
            equal(r.next(), false, "rows");
        }
    }

    public static void main(String[] arguments) throws Exception {
        args = arguments;
        for (boolean serverSide : new boolean[] {false, true}) {
            try (Connection c = open(args[3], serverSide); Statement s = c.createStatement()) {
                String name = "types_java_" + serverSide;
                types(c, name);
                String big = "x".repeat(17 << 20);
                try (PreparedStatement p = c.prepareStatement("select length(?), ?")) {
                    p.setString(1, big);
                    p.setString(2, big);
                    ResultSet r = p.executeQuery();
                    r.next();
                    equal(r.getInt(1), big.length(), "length of 17 MB");
                    equal(r.getString(2).equals(big), true, "17 MB");
                }
                equal(number(() -> s.executeQuery("select * from missing")), 1146, "no table");
                equal(number(() -> s.execute("selec 1")), 1064, "syntax");
                equal(number(() -> s.executeUpdate("insert into " + name + " (id) values (1)")), 1062, "duplicate");
                try (ResultSet r = s.executeQuery("show status like 'Ssl_cipher'")) {
                    r.next();
                    equal(!r.getString(2).isEmpty(), args[4].equals("tls"), "TLS");
                }
                s.setQueryTimeout(1);
                equal(number(() -> s.executeQuery("select sleep(20), benchmark(1, 1)").next()) != -1, true, "a query that is cancelled");
                s.setQueryTimeout(0);
                c.setAutoCommit(false);
                s.executeUpdate("update " + name + " set i8 = 5 where id = 1");
                c.rollback();
                try (ResultSet r = s.executeQuery("select i8 from " + name + " where id = 1")) {
                    r.next();
                    equal(r.getInt(1), -128, "after the rollback");
                }
                c.setAutoCommit(true);
                // Streaming with a cursor.
                DatabaseMetaData meta = c.getMetaData();
                try (ResultSet r = meta.getColumns("clients", null, name, "%")) {
                    int n = 0;
                    while (r.next()) {
                        n++;
                    }
                    equal(n, 12, "columns by the driver's own query");
                }
                try (ResultSet r = meta.getPrimaryKeys("clients", null, name)) {
                    r.next();
                    equal(r.getString("COLUMN_NAME"), "id", "primary key by the driver's own query");
                }
            }
        }
        // A password that the server does not remember goes over TLS only.
        if (!args[4].equals("remembered")) {
            equal(number(() -> open("wrong", false).close()), 1045, "wrong password");
        }
    }
}
