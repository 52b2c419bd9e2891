import java.io.*;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import liquibase.integration.commandline.LiquibaseCommandLine;

/** Liquibase's commands against a server: what each ends with, and the schema afterwards. */
public class LiquibasePlay {
    static String base, opts = "?sslMode=DISABLED&allowPublicKeyRetrieval=true", user, password;
    static String run(boolean show, String... command) {
        PrintStream out = System.out, err = System.err;
        ByteArrayOutputStream said = new ByteArrayOutputStream(), told = new ByteArrayOutputStream();
        System.setOut(new PrintStream(said, true)); System.setErr(new PrintStream(told, true));
        int code;
        try { code = new LiquibaseCommandLine().execute(command); } finally { System.setOut(out); System.setErr(err); }
        System.out.println("# " + command[command.length - 1].replaceAll(".*/", "") + " in " + Arrays.stream(command).filter(a -> !a.startsWith("--")).findFirst().get() + ": " + code);
        if (show) System.out.println(said.toString(StandardCharsets.UTF_8).trim());
        if (code != 0) System.out.println(told.toString(StandardCharsets.UTF_8).replaceAll("(?m)^Starting Liquibase.*$", ""));
        return said.toString(StandardCharsets.UTF_8);
    }
    static void rows(String sql) throws SQLException {
        System.out.println("> " + sql);
        try (Connection c = DriverManager.getConnection(base + "liqui" + opts, user, password); Statement s = c.createStatement()) {
            boolean set = s.execute(sql);
            if (!set) { System.out.println(s.getUpdateCount()); return; }
            ResultSet r = s.getResultSet();
            int n = r.getMetaData().getColumnCount();
            while (r.next()) {
                StringBuilder line = new StringBuilder();
                for (int i = 1; i <= n; i++) line.append(i == 1 ? "" : "|").append(r.getString(i));
                System.out.println(line);
            }
        } catch (SQLException e) { System.out.println("! " + e.getErrorCode() + " " + e.getSQLState() + " " + e.getMessage()); }
    }
    static void state() throws SQLException {
        rows("select id, author, exectype, orderexecuted, tag, md5sum from DATABASECHANGELOG order by orderexecuted");
        rows("select table_name, table_type from information_schema.tables where table_schema = 'liqui' order by 1");
        rows("select table_name, column_name, column_type, is_nullable, extra, column_comment from information_schema.columns where table_schema = 'liqui' and table_name in ('person', 'account') order by 1, ordinal_position");
        rows("select table_name, constraint_name, constraint_type from information_schema.table_constraints where table_schema = 'liqui' order by 1, 2");
        rows("select routine_name from information_schema.routines where routine_schema = 'liqui' order by 1");
        rows("select trigger_name from information_schema.triggers where trigger_schema = 'liqui'");
        rows("select name, email, born, active, score from person order by id");
        rows("select id, person_id, balance, kind from account order by id");
    }
    public static void main(String[] a) throws Exception {
        base = "jdbc:mysql://127.0.0.1:" + a[0] + "/"; user = a[2]; password = a[3];
        try (Connection c = DriverManager.getConnection(base + opts, user, password); Statement s = c.createStatement()) {
            for (String d : new String[] {"liqui", "liqui2"}) { s.execute("DROP DATABASE IF EXISTS " + d); s.execute("CREATE DATABASE " + d + " DEFAULT CHARACTER SET utf8mb4"); }
        }
        String[] first = at("liqui"), second = at("liqui2");
        String path = "--search-path=" + a[1], log = "--changelog-file=changelog.xml";
        run(false, with(first, "validate", path, log));
        run(false, with(first, "update", path, log));
        state();
        rows("select * from rich order by 1"); rows("call pay('Bob', -5)"); rows("call pay('Bob', -500)"); rows("select twice(21)"); rows("call count_people()");
        run(false, with(first, "status", path, log));
        run(false, with(second, "update", path, log));
        System.out.println(run(false, with(first, "diff", "--reference-url=" + base + "liqui2" + opts, "--reference-username=" + user, "--reference-password=" + password)).replaceAll("(?s).*(?=Missing Catalog)", "").replace("liqui2", "liqui"));
        String generated = run(false, with(first, "generate-changelog", "--diff-types=tables,columns,views,primarykeys,indexes,foreignkeys,uniqueconstraints"));
        System.out.println(generated.replaceAll("(?s)^.*?<changeSet", "<changeSet").replaceAll("id=\"\\d+-", "id=\"N-").replaceAll("author=\"[^\"]*\"", "").replaceAll("(?m)^(Starting Liquibase|Liquibase Version).*$", ""));
        run(false, with(first, "rollback", path, log, "--tag=one"));
        state();
        run(false, with(first, "update", path, log));
        run(false, with(first, "rollback-count", path, log, "--count=6"));
        run(false, with(first, "drop-all", "--force=true"));
        rows("select count(*) from information_schema.tables where table_schema = 'liqui'");
    }
    static String[] at(String schema) { return new String[] {"--log-level=off", "--show-banner=false", "--url=" + base + schema + opts, "--username=" + user, "--password=" + password}; }
    static String[] with(String[] at, String... more) {
        // Global options first, the command, its own.
        List<String> all = new ArrayList<>(List.of("--log-level=off", "--show-banner=false"));
        for (String m : more) if (m.startsWith("--search-path")) all.add(m);
        all.add(more[0]);
        for (String o : at) if (!o.startsWith("--log") && !o.startsWith("--show")) all.add(o);
        for (int i = 1; i < more.length; i++) if (!more[i].startsWith("--search-path")) all.add(more[i]);
        return all.toArray(new String[0]);
    }
}
